package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// kill -9 in the middle: the client dies with its parent, the work in tmp stays
// behind, and the next attempt removes it and succeeds.
func TestKilledInTheMiddle(t *testing.T) {
	archive := writeFile(t, filepath.Join(t.TempDir(), "a"), []byte("the archive"))
	alive, home := fifo(t), t.TempDir()
	tools(t, map[string]string{"npm": `exec 3> '` + alive + `'; echo half > "$4/half"; echo up >&3; exec sleep 600`})
	cmd := child(t, "fetch", home, archive)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	in := bufio.NewReader(pipe)
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := io.Copy(io.Discard, in); err != nil {
		t.Fatal(err) // ends only when the client is gone
	}
	if left := leftovers(t, home, "tmp"); len(left) != 1 {
		t.Fatalf("tmp holds %v, want what was left", left)
	}
	tools(t, npmServes(archive))
	var log logs
	if _, err := (&Fetcher{Home: home, Log: log.logger()}).Fetch(ctx, demo(archive)); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, home, "tmp"); len(left) > 0 || !log.contains("removing unfinished work") {
		t.Errorf("left in tmp: %v", left)
	}
}

// Two processes want the same archive: one fetches, the other waits and uses it.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	archive := writeFile(t, filepath.Join(dir, "a"), []byte("the archive"))
	calls := filepath.Join(dir, "calls")
	scripts := npmServes(archive)
	scripts["npm"] = "echo call >> '" + calls + "'\n" + scripts["npm"]
	tools(t, scripts)
	home := t.TempDir()
	var cmds []*exec.Cmd
	for range 4 {
		cmd := child(t, "fetch", home, archive)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got, _ := os.ReadFile(calls); string(got) != "call\n" {
		t.Errorf("npm was called %d times, want 1", strings.Count(string(got), "call"))
	}
}

// Real ENOSPC: a child with its own file system of 256 KiB.
func TestSmallDisk(t *testing.T) {
	data := make([]byte, 512<<10)
	archive := packTgz(t, member{name: "big", data: data})
	cmd := child(t, "small-disk", t.TempDir(), archive)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || strings.Contains(string(out), noMount) {
		t.Skipf("SKIPPED: no small file system can be mounted here: %v %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

const noMount = "mount not permitted"

func onSmallDisk(f *Fetcher, archive string) error {
	if err := unix.Mount("tmpfs", f.Home, "tmpfs", 0, "size=256k"); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	stage, err := f.Stage("demo")
	if err != nil {
		return err
	}
	_, err = Unpack(ctx, archive, stage.Dir, Unpacking{Select: func(n string) string { return n }, Limit: 1 << 20})
	var full *DiskFullError
	if !errors.As(err, &full) || full.Free > 256<<10 || full.Need != 1<<20 || !strings.HasPrefix(full.Path, f.Home) {
		return fmt.Errorf("Unpack on a full disk: %w", err)
	}
	if err := stage.Discard(); err != nil {
		return err
	}
	// With the room back, work goes on.
	stage, err = f.Stage("demo")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stage.Dir, "f"), make([]byte, 128<<10), 0o644); err != nil {
		return err
	}
	if err := stage.Publish("f", filepath.Join(f.Home, "f")); err != nil {
		return err
	}
	err = CheckSpace(f.Home, 200<<10)
	if !errors.As(err, &full) {
		return fmt.Errorf("CheckSpace on a nearly full disk: %w", err)
	}
	return nil
}
