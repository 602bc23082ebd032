package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// helperOf is the number of the one process that this one has started.
func helperOf(t *testing.T) int {
	t.Helper()
	var found []int
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range all {
		status, err := os.ReadFile(dir + "/status")
		if err == nil && statusLine(string(status), "PPid") == itoa(os.Getpid()) {
			found = append(found, atoi(t, filepath.Base(dir)))
		}
	}
	if len(found) != 1 {
		t.Fatalf("children: %v, want the helper alone", found)
	}
	return found[0]
}

func statusLine(status, key string) string {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// The kernel holds signals from inside back from the first process of a namespace, but
// for those that it handles.
func TestHelperHandlesNoSignal(t *testing.T) {
	g := newGround(t, Options{Only: Full})
	g.box(Spec{Name: "signals"})
	status, err := os.ReadFile("/proc/" + itoa(helperOf(t)) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]uint64{"SigCgt": 1 << (uint(syscall.SIGURG) - 1), "SigIgn": 0} {
		if got, err := strconv.ParseUint(statusLine(string(status), key), 16, 64); err != nil || got != want {
			t.Errorf("%s %x, want %x (%v)", key, got, want, err)
		}
	}
}

// The helper is born in the box's group, and this program's threads stay outside.
func TestBornInGroup(t *testing.T) {
	g := newGround(t, Options{})
	if g.host.fence == nil {
		t.Skip("SKIPPED: no control groups here")
	}
	for i := range 3 {
		name := "born" + itoa(i)
		b := g.box(Spec{Name: name})
		where, err := os.ReadFile("/proc/" + itoa(helperOf(t)) + "/cgroup")
		if err != nil {
			t.Fatal(err)
		}
		want := len(controllers)
		if g.host.fence.version == 2 {
			want = 1
		}
		if n := strings.Count(string(where), "/"+name+"\n"); n != want {
			t.Errorf("the helper is in %d groups of its box, want %d:\n%s", n, want, where)
		}
		threads, err := filepath.Glob("/proc/self/task/*/cgroup")
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			if where, err := os.ReadFile(thread); err == nil && strings.Contains(string(where), groupPrefix) {
				t.Errorf("%s is in a group of boxes:\n%s", thread, where)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Version 2 takes a process as it is born. Controllers are not needed for that.
func TestBornInGroupOfVersion2(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	at, ok := findGroups(string(mounts), string(own))[""]
	if !ok {
		t.Skip("SKIPPED: no control groups of version 2 here")
	}
	dir := filepath.Join(at, groupPrefix+itoa(os.Getpid())+"-test")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("SKIPPED: no control groups of version 2 to write to: ", err)
	}
	g := &group{&fence{version: 2}, map[string]string{"memory": dir}}
	t.Cleanup(func() {
		if err := g.remove(); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command("cat", "/proc/self/cgroup")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	var out strings.Builder
	cmd.Stdout = &out
	if err := g.start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "/"+filepath.Base(dir)+"\n") {
		t.Errorf("%v, not in %s:\n%s", err, dir, out.String())
	}
}
