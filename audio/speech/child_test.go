package speech_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"dure/audio/speech"
)

// How a child ends while it is started is in the error.
func TestStartFails(t *testing.T) {
	for want, args := range map[string][]string{
		"no such file":  {"/nowhere/dure"},
		"no way to run": {"/bin/sh", "-c", "echo no way to run >&2; exit 3"},
		"frame":         {"/bin/sh", "-c", "printf '\\377\\377\\377\\377aaaaaaaaaaaaaaa'; exec sleep 60"},
		"by itself":     {"/bin/true"},
	} {
		c, err := speech.Start(t.Context(), speech.Command{Args: args}, speech.Config{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error with %q", args, err, want)
		}
		if err == nil {
			c.Close()
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, err := speech.Start(ctx, speech.Command{Args: []string{"/bin/sh", "-c", "read x; read y"}}, speech.Config{}); !errors.Is(err, why) {
		t.Errorf("a start that was broken off: %v", err)
	}
}

// A child that dies again and again is not started for ever.
func TestRestartsAreCounted(t *testing.T) {
	e, err := speech.New(speech.Command{Args: []string{"/bin/false"}}, speech.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var last error
	for range 12 {
		_, last = e.VAD(t.Context())
		if !errors.Is(last, speech.ErrLost) {
			t.Fatalf("got %v, want %v", last, speech.ErrLost)
		}
	}
	if !strings.Contains(last.Error(), "not started again before") {
		t.Errorf("after twelve starts: %v", last)
	}
	e.Close()
	if _, err := e.VAD(t.Context()); err == nil {
		t.Error("closed engines were started")
	}
}

// A child ends with its parent, however that ends.
func TestChildDiesWithParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, parentArg)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(line)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for range 600 {
		// Nobody may reap it here: a dead process without a reaper is a zombie.
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("the child %s lives a minute after its parent", pid)
}
