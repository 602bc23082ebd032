package land

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"dure/runtime/vcs/object"
)

// Git's process dies between two merges: it is started again.
func TestGitProcessDies(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"f": lines(9, nil), "g": lines(8, nil)})
	base := h.main()
	h.lands("ann", base, gone("f"), put("f2", lines(9, nil)), gone("g"), put("g2", lines(8, nil)))
	h.lands("one", base, put("f", lines(9, map[int]string{3: "one"})))
	// The process lives between merges; the loop is idle now, so it is ours to kill.
	if err := h.job.call(t.Context(), func() { _ = h.job.git.cmd.Process.Kill() }); err != nil {
		t.Fatal(err)
	}
	h.lands("two", base, put("g", lines(8, map[int]string{3: "two"})))
	h.wants(map[string]string{"f2": lines(9, map[int]string{3: "one"}), "g2": lines(8, map[int]string{3: "two"})})
}

// Git's process hangs: the landing gets an error in time, and can be asked again.
func TestGitProcessHangs(t *testing.T) {
	h := newHouse(t, Options{}, map[string]string{"f": lines(9, nil), "g": lines(8, nil)})
	base := h.main()
	h.lands("ann", base, gone("f"), put("f2", lines(9, nil)), gone("g"), put("g2", lines(8, nil)))
	h.lands("one", base, put("f", lines(9, map[int]string{3: "one"})))
	set := func(f func(g *gitMerger)) {
		t.Helper()
		if err := h.job.call(t.Context(), func() { f(h.job.git) }); err != nil {
			t.Fatal(err)
		}
	}
	set(func(g *gitMerger) {
		g.timeout = 20 * time.Millisecond
		if err := g.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
	})
	id := h.commit("two", base, put("g", lines(8, map[int]string{3: "two"})))
	if _, err := h.land(Request{Agent: "two", Commit: id}); !errors.Is(err, ErrGit) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("while git hangs: %v", err)
	}
	set(func(g *gitMerger) { g.timeout = time.Minute })
	if l, err := h.land(Request{Agent: "two", Commit: id}); err != nil || l.Tier != TierGit {
		t.Errorf("afterwards: %v by %s", err, l.Tier)
	}
}

func TestWrongAnswersOfGit(t *testing.T) {
	g, err := newGitMerger(t.TempDir(), "git", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	// Not a repository: the process ends at once, twice.
	if _, err := g.merge(t.Context(), object.Zero, object.Zero); !errors.Is(err, ErrGit) {
		t.Errorf("no repository: %v", err)
	}
	if _, err := newGitMerger(t.TempDir(), "no-such-program", time.Minute); err == nil {
		t.Error("a program that is not there")
	}
}
