package check

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dure/runtime/sandbox"
	"dure/runtime/vcs"
	"dure/runtime/vcs/checkout"
	"dure/runtime/vcs/land"
	"dure/runtime/vcs/object"
)

// ground is a repository, a sandbox, and a folder that is another user's to pass.
type ground struct {
	t    *testing.T
	dir  string
	repo *vcs.Repository
	host *sandbox.Host
}

func newGround(t *testing.T, only sandbox.Rung) *ground {
	t.Helper()
	dir, err := os.MkdirTemp("", "check-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	g := &ground{t: t, dir: dir}
	g.host, err = sandbox.Open(t.Context(), sandbox.Options{Dir: dir, Only: only, Log: slog.New(slog.DiscardHandler)})
	if errors.Is(err, sandbox.ErrRefused) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.host.Close(); err != nil {
			t.Error(err)
		}
	})
	if g.repo, err = vcs.Init(t.Context(), filepath.Join(dir, "r.git"), "refs/heads/main", vcs.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.repo.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// commit makes a commit with these files, that no branch but its own names.
func (g *ground) commit(name string, changes ...vcs.Change) object.ID {
	g.t.Helper()
	d, who := g.repo.Draft(), g.repo.Signature(vcs.Owner())
	tree, err := d.Splice(g.t.Context(), object.Zero, changes)
	if err != nil {
		g.t.Fatal(err)
	}
	id, err := d.PutCommit(g.t.Context(), object.Commit{Tree: tree, Author: who, Committer: who, Message: "m"})
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.repo.Apply(g.t.Context(), vcs.Owner(), d, vcs.Move{Ref: "refs/heads/" + name, New: id}); err != nil {
		g.t.Fatal(err)
	}
	return id
}

func (g *ground) checker(opt Options) *Checker {
	g.t.Helper()
	trees, err := checkout.Open(filepath.Join(g.dir, "trees"), checkout.Options{Keep: 2})
	if err != nil {
		g.t.Fatal(err)
	}
	opt.Dir = filepath.Join(g.dir, "boxes")
	if err := os.MkdirAll(opt.Dir, 0o711); err != nil {
		g.t.Fatal(err)
	}
	c, err := New(g.repo, trees, g.host, opt)
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

func (g *ground) check(c *Checker, commit object.ID) land.Check {
	g.t.Helper()
	got, err := c.Check(g.t.Context(), commit)
	if err != nil {
		g.t.Fatal(err)
	}
	if left, err := os.ReadDir(c.opt.Dir); err != nil || len(left) > 0 {
		g.t.Errorf("left behind: %v %v", left, err)
	}
	return got
}

func put(path, text string) vcs.Change {
	return vcs.Change{Path: path, Mode: object.ModeFile, Data: []byte(text)}
}

func script(path, text string) vcs.Change {
	return vcs.Change{Path: path, Mode: object.ModeExecutable, Data: []byte("#!/bin/sh\n" + text)}
}

// Of sixteen landings one breaks main. The real command, in real boxes, over real
// checkouts, finds it with as many runs as halving takes, and green stops before it.
func TestABreakingLandingIsFound(t *testing.T) {
	g := newGround(t, "")
	base := g.commit("main", script("check.sh", "for f in part*; do read a <$f; [ $((a)) -lt 100 ] || { echo $f is wrong: $a; exit 3; }; done\necho fine\n"), put("part0", "0\n"))
	job, err := land.New(t.Context(), g.repo, land.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	if err := g.repo.Apply(t.Context(), vcs.Landing(), nil, vcs.Move{Ref: vcs.GreenRef, New: base}); err != nil {
		t.Fatal(err)
	}
	const bad = 10
	var landed [16]land.Landed
	for i := range landed {
		who, err := vcs.Agent(fmt.Sprintf("a%d", i))
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%d\n", i)
		if i == bad {
			text = "1000\n"
		}
		done, err := g.repo.CommitChanges(t.Context(), who, vcs.CommitRequest{Base: base, Message: "m", Changes: []vcs.Change{put(fmt.Sprintf("part%d", i+1), text)}})
		if err != nil {
			t.Fatal(err)
		}
		if landed[i], err = job.Land(t.Context(), land.Request{Agent: who.Name(), Task: fmt.Sprintf("task %d", i), Commit: done.Commit}); err != nil {
			t.Fatal(err)
		}
	}
	told := make(chan land.GreenEvent, 1)
	ctx, cancel := context.WithCancel(t.Context())
	follow := land.NewGreen(g.repo, g.checker(Options{Command: []string{"./check.sh"}}), land.FollowPolicy{Again: -1}, func(e land.GreenEvent) {
		if !e.Broken.IsZero() {
			told <- e
		}
	}, slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() { ended <- follow.Run(ctx) }()
	var e land.GreenEvent
	select {
	case e = <-told:
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("nothing is told")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if e.Broken != landed[bad].Commit || e.By.Agent != fmt.Sprintf("a%d", bad) || e.By.Task != fmt.Sprintf("task %d", bad) {
		t.Errorf("told %+v, want %v", e, landed[bad].Commit)
	}
	if e.Checks > 5 {
		t.Errorf("%d runs; the newest and 4 halvings are 5", e.Checks)
	}
	if !strings.Contains(e.Output, "part11 is wrong: 1000") && !strings.Contains(e.Output, "fine") {
		t.Errorf("said %q", e.Output)
	}
	if at, _ := g.repo.Ref(vcs.GreenRef); at != landed[bad-1].Commit {
		t.Errorf("green is at %v, want %v", at, landed[bad-1].Commit)
	}
}

// A check is code of agents: it writes to its home, to the checkout, to the machine,
// and opens sockets. It reaches nobody, and the next one finds nothing of it.
func TestHostileChecks(t *testing.T) {
	for _, rung := range []sandbox.Rung{sandbox.Full, sandbox.Reduced} {
		t.Run(string(rung), func(t *testing.T) {
			g := newGround(t, rung)
			tcp, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer tcp.Close()
			path := filepath.Join(g.dir, "someone.sock")
			unix, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close()
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
			var reached atomic.Int64
			for _, l := range []net.Listener{tcp, unix} {
				go func() {
					for c, err := l.Accept(); err == nil; c, err = l.Accept() {
						reached.Add(1)
						_ = c.Close()
					}
				}()
			}
			home, err := os.UserHomeDir()
			if err != nil {
				t.Fatal(err)
			}
			mark := fmt.Sprintf("dure-check-test-%d", os.Getpid())
			outside := []string{filepath.Join(home, mark), filepath.Join(g.dir, mark), "/usr/" + mark, "/etc/" + mark}
			hostile := g.commit("hostile", put("file", "as it was\n"), put("check.py", fmt.Sprintf(`
import os, socket, sys
def attempt(what, f):
    try: f(); print(what, "worked")
    except OSError as e: print(what, "failed:", e)
attempt("home", lambda: open(os.path.expanduser("~/%[1]s"), "w").write("x"))
attempt("file", lambda: open("file", "w").write("changed"))
for p in %[2]s: attempt(p, lambda: open(p, "w").write("x"))
def dial(family, where):
    s = socket.socket(family); s.settimeout(5); s.connect(where)
attempt("tcp", lambda: dial(socket.AF_INET, ("127.0.0.1", %[3]d)))
attempt("unix", lambda: dial(socket.AF_UNIX, %[4]q))
attempt("other files of the run", lambda: os.listdir(%[5]q))
sys.exit(0 if "DURE_SOCKET" not in os.environ and "DURE_SOCKET_FD" not in os.environ else 9)
`, mark, `["`+strings.Join(outside, `","`)+`"]`, tcp.Addr().(*net.TCPAddr).Port, path, filepath.Join(g.dir, "r.git"))))
			clean := g.commit("clean", put("file", "as it was\n"), put("check.py", fmt.Sprintf(`
import os
assert open("file").read() == "as it was\n"
assert not os.path.exists(os.path.expanduser("~/%s"))
print(sorted(os.listdir(".")))
`, mark)))
			c := g.checker(Options{Command: []string{"python3", "check.py"}})
			first := g.check(c, hostile)
			for _, want := range []string{"home worked\n", "file worked\n", outside[1] + " failed", "/usr/" + mark + " failed", "tcp failed", "unix failed", "of the run failed"} {
				if !first.Passed || !strings.Contains(first.Output, want) {
					t.Errorf("no %q: %+v", want, first)
				}
			}
			for _, p := range outside {
				if _, err := os.Lstat(p); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s: %v", p, err)
				}
			}
			if n := reached.Load(); n > 0 {
				t.Errorf("%d connections came out", n)
			}
			if got := g.check(c, clean); !got.Passed || got.Output != "['check.py', 'file']\n" {
				t.Errorf("the next one: %+v", got)
			}
		})
	}
}

// Only an exit code of 0 passes, and who has to mend it is told how the check ended.
func TestHowChecksEnd(t *testing.T) {
	g := newGround(t, "")
	commit := g.commit("main", put("f", "x\n"))
	for _, x := range []struct {
		script string
		opt    Options
		passed bool
		said   string
	}{
		{"cat f", Options{}, true, "x\n"},
		{"echo no; exit 7", Options{}, false, "no\nthe check ended with exit code 7\n"},
		{"kill -ABRT $$", Options{}, false, "the check was ended by a signal: aborted\n"},
		{"echo begun; sleep 1000", Options{Timeout: 300 * time.Millisecond}, false, "the check was ended: it may take 300ms\n"},
		{"yes | head -c 100000; echo last", Options{Output: 7}, true, "[99998 bytes before this are not kept]\ny\nlast\n"},
		{"printf '\\377'; false", Options{}, false, "\uFFFD\nthe check ended with exit code 1\n"},
		{"no-such-program", Options{}, false, "exit code 127"},
	} {
		x.opt.Command = []string{"sh", "-c", x.script}
		got := g.check(g.checker(x.opt), commit)
		if got.Passed != x.passed || !strings.HasSuffix(strings.TrimSpace(got.Output), strings.TrimSpace(x.said)) {
			t.Errorf("%s: %+v", x.script, got)
		}
	}
	// A commit without the check, or with one that does not start, fails.
	for name, change := range map[string]vcs.Change{"missing": put("f", ""), "no program": put("check.sh", "true\n"), "no-shell": script("check.sh", "")} {
		if name == "no-shell" {
			change.Data = []byte("#!/no/such/shell\n")
		}
		if got := g.check(g.checker(Options{Command: []string{"./check.sh"}}), g.commit(strings.ReplaceAll(name, " ", "-"), change)); got.Passed || !strings.Contains(got.Output, "exit code 12") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// What has no result is no failure.
	c := g.checker(Options{Command: []string{"true"}})
	if got, err := c.Check(t.Context(), object.ID{1}); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("a missing commit: %+v %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if got, err := g.checker(Options{Command: []string{"sleep", "1000"}}).Check(ctx, commit); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v %v", got, err)
	}
	for _, bad := range []Options{{Dir: "/tmp"}, {Command: []string{"true"}, Dir: "here"}, {Command: []string{"true"}, Dir: "/tmp", Timeout: -1}} {
		if _, err := New(g.repo, nil, g.host, bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// In memory, a check that writes too much meets the bound exactly.
func TestInMemory(t *testing.T) {
	g := newGround(t, sandbox.Full)
	commit := g.commit("main", put("f", "x\n"))
	c := g.checker(Options{Command: []string{"sh", "-c", "head -c 3000000 /dev/zero > a && cat f && head -c 9000000 /dev/zero > b"}, Memory: 8 << 20})
	if got := g.check(c, commit); got.Passed || !strings.HasPrefix(got.Output, "x\n") || !strings.Contains(got.Output, "No space left") {
		t.Errorf("%+v", got)
	}
}
