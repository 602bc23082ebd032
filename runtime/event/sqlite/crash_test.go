package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dure/runtime/event"
	"dure/runtime/event/eventtest"
)

// child runs one of the children below in a process of its own.
func child(t *testing.T, name, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestChild$", "-child="+name, "-log="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestChild is no test but the other process of the tests below.
func TestChild(t *testing.T) {
	switch *childName {
	case "":
	case "writer":
		t.Fatal(eventtest.Write(openAt(t, *childPath), os.Stdout))
	case "small":
		if err := syscall.Mount("tmpfs", filepath.Dir(*childPath), "tmpfs", 0, "size=1m"); err != nil {
			fmt.Println("cannot mount:", err)
			return
		}
		fill(t, *childPath)
		fmt.Println("was full")
	default:
		t.Fatalf("no child %q", *childName)
	}
}

// Killed at any moment: what was acknowledged is there, in order, once.
func TestKilledWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	at := eventtest.Place{Open: func(t testing.TB) event.Log { return openAt(t, path) }}
	eventtest.KillMany(t, *crashes, at, func() *exec.Cmd { return child(t, "writer", path) })
}

// fill appends until the disk is full, makes room, and goes on.
func fill(t *testing.T, path string) {
	ctx := context.Background()
	ballast := filepath.Join(filepath.Dir(path), "ballast")
	if err := os.WriteFile(ballast, make([]byte, 300_000), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := Open(ctx, Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	big := event.Event{Type: "test.big", Version: 1, Payload: []byte(`"` + strings.Repeat("x", 20_000) + `"`)}
	there := 0
	for range 2 { // full twice, at other places
		for err = nil; err == nil; {
			if _, err = log.Append(ctx, "s", event.Sequence(there), big); err == nil {
				there++
			}
		}
		if !errors.Is(err, event.ErrFull) {
			t.Fatalf("after %d events: %v", there, err)
		}
		big.Payload = []byte(`"` + strings.Repeat("y", 900) + `"`)
	}
	wholeLog(t, log, there)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := log.Append(ctx, "s", event.Sequence(there), big); err != nil {
			t.Fatalf("with room again, after %d events: %v", there, err)
		}
		there++
	}
	wholeLog(t, log, there)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	wholeLog(t, openAt(t, path), there)
}

func wholeLog(t *testing.T, log event.Log, want int) {
	t.Helper()
	var events []event.Event
	for e, err := range log.ReadAll(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := eventtest.Check(events); err != nil || len(events) != want {
		t.Fatalf("%d events, want %d: %v", len(events), want, err)
	}
}

func TestFullDisk(t *testing.T) {
	cmd := child(t, "small", filepath.Join(t.TempDir(), "events.db"))
	cmd.Stderr = nil
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || strings.Contains(string(out), "cannot mount") {
		t.Skipf("SKIPPED: no mount namespace here: %v %s", err, out)
	}
	if err != nil || !strings.Contains(string(out), "was full") {
		t.Fatalf("%v\n%s", err, out)
	}
}
