package land

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// house is a repository with a landing job, and agents by name.
type house struct {
	t      testing.TB
	repo   *vcs.Repository
	job    *Lander
	gate   *Gate
	mu     sync.Mutex
	events []Event
}

func newHouse(t testing.TB, opt Options, files map[string]string) *house {
	t.Helper()
	h := &house{t: t, gate: new(Gate)}
	repo, err := vcs.Init(t.Context(), filepath.Join(t.TempDir(), "r.git"), "refs/heads/main", vcs.Options{Gate: h.gate.Allow})
	if err != nil {
		t.Fatal(err)
	}
	h.repo = repo
	t.Cleanup(func() {
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	})
	var changes []vcs.Change
	for p, text := range files {
		changes = append(changes, put(p, text))
	}
	d := repo.Draft()
	tree, err := d.Splice(t.Context(), object.Zero, changes)
	if err != nil {
		t.Fatal(err)
	}
	who := repo.Signature(vcs.Owner())
	id, err := d.PutCommit(t.Context(), object.Commit{Tree: tree, Author: who, Committer: who, Message: "begin"})
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.Apply(t.Context(), vcs.Owner(), d, vcs.Move{Ref: repo.Main(), New: id}); err != nil {
		t.Fatal(err)
	}
	h.start(opt)
	return h
}

// start begins the landing job, or begins it again.
func (h *house) start(opt Options) {
	h.t.Helper()
	opt.Gate = h.gate
	record := opt.Record
	opt.Record = func(e []Event) {
		h.mu.Lock()
		h.events = append(h.events, e...)
		h.mu.Unlock()
		if record != nil {
			record(e)
		}
	}
	job, err := New(context.Background(), h.repo, opt)
	if err != nil {
		h.t.Fatal(err)
	}
	h.job = job
	h.t.Cleanup(func() { job.Close() })
}

func put(path, text string) vcs.Change {
	return vcs.Change{Path: path, Mode: object.ModeFile, Data: []byte(text)}
}

func gone(path string) vcs.Change { return vcs.Change{Path: path} }

func (h *house) main() object.ID {
	id, _ := h.repo.Ref(h.repo.Main())
	return id
}

// commit commits on an agent's branch, which begins at base if it is new, or goes
// on with base merged into it if base is not Zero.
func (h *house) commit(name string, base object.ID, changes ...vcs.Change) object.ID {
	h.t.Helper()
	id, err := h.tryCommit(name, base, changes...)
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

func (h *house) tryCommit(name string, base object.ID, changes ...vcs.Change) (object.ID, error) {
	a, err := vcs.Agent(name)
	if err != nil {
		return object.Zero, err
	}
	q := vcs.CommitRequest{Changes: changes, Message: "change of " + name}
	if old, ok := h.repo.Ref(a.Branch()); ok {
		q.Old = old
		if !base.IsZero() {
			q.Merge = []object.ID{base}
		}
	} else {
		q.Base = base
	}
	done, err := h.repo.CommitChanges(h.t.Context(), a, q)
	return done.Commit, err
}

func (h *house) land(q Request) (Landed, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	return h.job.Land(ctx, q)
}

// lands commits and lands, and must succeed.
func (h *house) lands(name string, base object.ID, changes ...vcs.Change) Landed {
	h.t.Helper()
	id := h.commit(name, base, changes...)
	l, err := h.land(Request{Agent: name, Task: "task of " + name, Commit: id})
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

// text is a file of main; "-" if it is not there.
func (h *house) text(path string) string {
	h.t.Helper()
	root, err := h.repo.TreeAt(h.t.Context(), h.main())
	if err != nil {
		h.t.Fatal(err)
	}
	e, err := vcs.Find(h.t.Context(), h.repo, root, path)
	if err != nil {
		return "-"
	}
	data, err := h.repo.Blob(h.t.Context(), e.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

func (h *house) wants(files map[string]string) {
	h.t.Helper()
	for p, want := range files {
		if got := h.text(p); got != want {
			h.t.Errorf("main has %q in %s, want %q", got, p, want)
		}
	}
}

// git asks the real one, after all is published.
func (h *house) git(args ...string) string {
	h.t.Helper()
	if err := h.repo.Publish(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = h.repo.Dir()
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (h *house) state() State {
	h.t.Helper()
	s, err := h.job.State(h.t.Context(), 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// lines is a text of numbered lines; some are replaced.
func lines(n int, replaced map[int]string) string {
	var b strings.Builder
	for i := range n {
		if s, ok := replaced[i]; ok {
			b.WriteString(s + "\n")
			continue
		}
		b.WriteString("line " + string(rune('a'+i%26)) + " of the file\n")
	}
	return b.String()
}
