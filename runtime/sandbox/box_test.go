package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestWorkspaceIsAnOverlay(t *testing.T) {
	g := newGround(t, Options{Only: Full})
	lower := g.snapshot("shared")
	a, b := g.box(Spec{Name: "a", Lower: lower}), g.box(Spec{Name: "b", Lower: lower})
	if r, out := g.sh(a, "echo changed > file.txt && rm folder/inner.txt && echo new > new.txt"); r.Code != 0 {
		t.Fatal(out)
	}
	if _, out := g.sh(b, "cat file.txt folder/inner.txt; ls"); out != "as it was\ninner\nfile.txt\nfolder\n" {
		t.Errorf("another agent sees %q", out)
	}
	if data, err := os.ReadFile(filepath.Join(lower, "file.txt")); err != nil || string(data) != "as it was\n" {
		t.Errorf("the snapshot was changed: %q %v", data, err)
	}
	dir, whole := a.Changes()
	if whole {
		t.Fatal("no overlay")
	}
	if data, err := os.ReadFile(filepath.Join(dir, "new.txt")); err != nil || string(data) != "new\n" {
		t.Errorf("changes: %q %v", data, err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(dir, "folder/inner.txt"), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0 {
		t.Errorf("a removed file: %+v %v", st, err)
	}
}

// What an agent did is there when its box is built again.
func TestChangesOutliveTheBox(t *testing.T) {
	g := newGround(t, Options{})
	spec := Spec{Name: "kept", Dir: filepath.Join(g.dir, "kept"), Lower: g.snapshot("kept")}
	for _, script := range []string{"echo 1 >> file.txt; echo x > ~/note", "cat file.txt ~/note; rm ~/note"} {
		b, err := g.host.Start(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		_, out := g.sh(b, script)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(script, "cat") && out != "as it was\n1\nx\n" {
			t.Errorf("found %q", out)
		}
	}
}

// A mount is there wherever it is asked for, also where something else is mounted.
func TestMounts(t *testing.T) {
	g := newGround(t, Options{Only: Full})
	from := g.snapshot("mounted")
	b := g.box(Spec{Name: "mounts", Mounts: []Mount{{From: from}, {from, "/tmp/here"}, {from, "/work/folder/deep"}, {from, "/home/agent/cache"},
		{from, "/opt/outer"}, {filepath.Join(from, "file.txt"), "/opt/outer/folder/inner.txt"}}, Hide: []string{"/opt/outer/file.txt", "/tmp/here/folder"}})
	_, out := g.sh(b, "cat "+from+"/file.txt /tmp/here/file.txt folder/deep/file.txt ~/cache/file.txt /opt/outer/folder/inner.txt /opt/outer/file.txt; ls /tmp/here/folder")
	if out != strings.Repeat("as it was\n", 5) {
		t.Errorf("%q", out)
	}
	for _, dir := range []string{from, "/tmp/here", "folder/deep", "~/cache", "/opt/outer"} {
		if r, out := g.sh(b, "echo x > "+dir+"/planted"); r.Code == 0 {
			t.Errorf("%s can be written to: %q", dir, out)
		}
	}
	if _, err := g.host.Start(context.Background(), Spec{Name: "missing", Dir: filepath.Join(g.dir, "missing"), Mounts: []Mount{{From: "/no/such/folder"}}}); err == nil || !strings.Contains(err.Error(), "/no/such/folder") {
		t.Errorf("a missing mount: %v", err)
	}
}

func TestOverlayTricks(t *testing.T) {
	g := newGround(t, Options{Only: Full})
	b := g.box(Spec{Name: "tricks"})
	g.sh(b, `mkdir trick; python3 -c '
import os
for name in ("user.overlay.redirect", "user.overlay.opaque", "user.overlay.metacopy", "user.overlay.origin"):
    try: os.setxattr("trick", name, b"/../../../etc")
    except OSError as e: print(e)
'; ln -s / everything; ln -s ../../../.. up`)
	dir, _ := b.Changes()
	for _, name := range []string{"user.overlay.redirect", "user.overlay.opaque", "user.overlay.metacopy"} {
		value := make([]byte, 64)
		n, err := unix.Lgetxattr(filepath.Join(dir, "trick"), name, value)
		if err == nil && strings.Contains(string(value[:n]), "etc") {
			t.Errorf("the agent wrote %s for the overlay: %q", name, value[:n])
		}
	}
	// Links lead to what is inside.
	if _, out := g.sh(b, "ls -d everything/work; cat up/etc/hostname"); out != "everything/work\nagent\n" {
		t.Errorf("links lead to %q", out)
	}
}

func TestAccountOfACommand(t *testing.T) {
	g := newGround(t, Options{})
	b := g.box(Spec{Name: "account", Env: []string{"A=box", "B=box"}})
	for _, c := range []struct {
		name   string
		cmd    Cmd
		ended  Ended
		code   int
		signal syscall.Signal
		out    string
	}{
		{name: "exit code", cmd: Cmd{Args: []string{"sh", "-c", "exit 7"}}, ended: EndedItself, code: 7},
		{name: "signal", cmd: Cmd{Args: []string{"sh", "-c", "kill -ABRT $$"}}, ended: EndedBySignal, code: -1, signal: syscall.SIGABRT},
		{name: "timeout", cmd: Cmd{Args: []string{"sh", "-c", "trap '' TERM INT HUP; sleep 1000"}, Timeout: 20 * time.Millisecond}, ended: EndedTimeout, code: -1, signal: syscall.SIGKILL},
		{name: "stopped", cmd: Cmd{Args: []string{"sh", "-c", "kill -STOP $$"}, Timeout: 20 * time.Millisecond}, ended: EndedTimeout, code: -1, signal: syscall.SIGKILL},
		{name: "input", cmd: Cmd{Args: []string{"cat"}, Stdin: strings.NewReader("typed")}, ended: EndedItself, out: "typed"},
		{name: "no input", cmd: Cmd{Args: []string{"cat"}}, ended: EndedItself},
		{name: "unread input", cmd: Cmd{Args: []string{"true"}, Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}, ended: EndedItself},
		{name: "environment", cmd: Cmd{Args: []string{"sh", "-c", "echo $A $B $HARNESS"}, Env: []string{"B=command"}}, ended: EndedItself, out: "box command\n"},
		{name: "folder", cmd: Cmd{Args: []string{"sh", "-c", "basename $PWD"}, Dir: "folder"}, ended: EndedItself, out: "folder\n"},
		{name: "no terminal", cmd: Cmd{Args: []string{"sh", "-c", "tty; true < /dev/tty || echo none"}}, ended: EndedItself, out: "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, out := g.run(b, c.cmd)
			if r.Ended != c.ended || r.Code != c.code || r.Signal != c.signal || !strings.Contains(out, c.out) || c.out == "" && out != "" {
				t.Errorf("%+v %q, want %s %d %d %q", r, out, c.ended, c.code, c.signal, c.out)
			}
		})
	}
}

func TestOutputIsCutAndCounted(t *testing.T) {
	g := newGround(t, Options{})
	b := g.box(Spec{Name: "output"})
	r, out := g.run(b, Cmd{Args: []string{"sh", "-c", "head -c 3000000 /dev/zero; head -c 5 /dev/zero >&2"}, OutputCap: 1000})
	if len(out) != 1005 || r.Stdout != 3_000_000 || r.Stderr != 5 || r.Dropped != 2_999_000 || r.Code != 0 {
		t.Errorf("%d bytes came, %+v", len(out), r)
	}
	if r, out = g.run(b, Cmd{Args: []string{"head", "-c", "3000000", "/dev/zero"}, OutputCap: -1}); len(out) != 3_000_000 || r.Dropped != 0 {
		t.Errorf("%d bytes came, %+v", len(out), r)
	}
}

func TestCommandsThatDoNotStart(t *testing.T) {
	g := newGround(t, Options{})
	b := g.box(Spec{Name: "start"})
	ctx := context.Background()
	if _, err := b.Run(ctx, Cmd{Args: []string{"no-such-program"}}); err == nil || !strings.Contains(err.Error(), "PATH=") {
		t.Errorf("a missing program: %v", err)
	}
	if _, err := b.Run(ctx, Cmd{Args: []string{"/no/such/program"}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a missing path: %v", err)
	}
	if _, err := b.Run(ctx, Cmd{Args: []string{"true"}, Dir: "/no/such/folder"}); err == nil || !strings.Contains(err.Error(), "/no/such/folder") {
		t.Errorf("a missing folder: %v", err)
	}
	if _, err := b.Run(ctx, Cmd{Args: []string{"true", strings.Repeat("x", 1<<20)}}); !errors.Is(err, ErrTooLong) {
		t.Errorf("a long command: %v", err)
	}
	if _, err := b.Run(ctx, Cmd{}); err == nil {
		t.Error("no command at all ran")
	}
	if r, err := b.Run(ctx, Cmd{Args: []string{"true"}}); err != nil || r.Code != 0 {
		t.Errorf("afterwards: %+v %v", r, err)
	}
}

func TestSeveralCommandsAtOnce(t *testing.T) {
	g := newGround(t, Options{})
	b := g.box(Spec{Name: "several"})
	// A server that answers, as long as it is not ended.
	in, answer := pipePair(t)
	out, heard := pipePair(t)
	p, err := b.Begin(context.Background(), Cmd{Args: []string{"cat"}, Stdin: in, Stdout: heard, OutputCap: -1})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		// Each leaves a process behind, and its end must not touch the server.
		if r, o := g.sh(b, "(setsid sleep 1000 >/dev/null 2>&1 &) ; echo done"); o != "done\n" || !r.Strays {
			t.Errorf("%q %+v", o, r)
		}
		if _, err := answer.WriteString("hello"); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 5)
		if _, err := out.Read(buf); err != nil || string(buf) != "hello" {
			t.Fatalf("the server says %q %v", buf, err)
		}
	}
	_ = answer.Close()
	if r, err := p.Wait(); err != nil || r.Code != 0 {
		t.Errorf("%+v %v", r, err)
	}
	if _, o := g.sh(b, "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done"); b.plan.Mode == Full && strings.Contains(o, "sleep 1000") {
		t.Errorf("something was left: %s", o)
	}
}

func pipePair(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}

func TestCancelAndClose(t *testing.T) {
	g := newGround(t, Options{})
	b := g.box(Spec{Name: "cancel"})
	ctx, cancel := context.WithCancel(context.Background())
	p, err := b.Begin(ctx, Cmd{Args: []string{"sh", "-c", "sleep 1000 & sleep 1000"}})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if r, err := p.Wait(); err != nil || r.Ended != EndedCancelled {
		t.Errorf("%+v %v", r, err)
	}
	p, err = b.Begin(context.Background(), Cmd{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); !errors.Is(err, ErrClosed) {
		t.Errorf("a command of a closed box: %v", err)
	}
	if _, err := b.Run(context.Background(), Cmd{Args: []string{"true"}}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed box: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// Commands cannot end the process that holds their walls.
func TestHelperSurvivesItsCommands(t *testing.T) {
	g := newGround(t, Options{Only: Full})
	b := g.box(Spec{Name: "survivor"})
	_, out := g.sh(b, "for s in $(seq 1 64); do kill -$s 1; done 2>/dev/null; kill -9 1; echo still here")
	if !strings.Contains(out, "still here\n") {
		t.Errorf("%q", out)
	}
	if r, _ := g.sh(b, "kill -KILL -1"); r.Ended != EndedBySignal && r.Ended != EndedItself {
		t.Errorf("%+v", r)
	}
	if r, out := g.sh(b, "echo alive"); out != "alive\n" {
		t.Errorf("%+v %q", r, out)
	}
}

// If the helper is killed from outside, whoever waits is told.
func TestLostBox(t *testing.T) {
	g := newGround(t, Options{Only: Full})
	b, err := g.host.Start(context.Background(), Spec{Name: "lost", Dir: filepath.Join(g.dir, "lost"), Lower: g.snapshot("lost")})
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Begin(context.Background(), Cmd{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all { // the only child of this process is the helper
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		if fields[1] == itoa(os.Getpid()) {
			_ = unix.Kill(atoi(t, filepath.Base(filepath.Dir(path))), unix.SIGKILL)
		}
	}
	if _, err := p.Wait(); !errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
	<-b.Done()
	if !strings.Contains(g.log.String(), "sandbox is gone") {
		t.Error("nothing was logged")
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	for name, s := range map[string]Spec{
		"name":        {Name: "../x", Dir: "/d"},
		"no name":     {Dir: "/d"},
		"folder":      {Name: "x", Dir: "d"},
		"snapshot":    {Name: "x", Dir: "/d", Lower: "l"},
		"mount":       {Name: "x", Dir: "/d", Mounts: []Mount{{From: "m"}}},
		"environment": {Name: "x", Dir: "/d", Env: []string{"novalue"}},
		"limit":       {Name: "x", Dir: "/d", Limits: Limits{Memory: -1}},
	} {
		if err := s.check(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := (Spec{Name: "x", Dir: "/d"}).check(); err != nil {
		t.Error(err)
	}
}

// When memory is short the kernel ends what a command started before the helper, with
// which the whole box would be lost.
func TestCommandsGoBeforeTheirHelper(t *testing.T) {
	g := newGround(t, Options{Only: Full})
	b := g.box(Spec{Name: "oom"})
	if _, out := g.sh(b, "sleep 0.2; cat /proc/self/oom_score_adj; sh -c 'cat /proc/self/oom_score_adj'"); out != "1000\n1000\n" {
		t.Errorf("the kernel would end it by %q", out)
	}
}
