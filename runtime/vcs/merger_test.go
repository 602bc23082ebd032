package vcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dure/runtime/vcs/git"
	"dure/runtime/vcs/object"
)

func realGit(t testing.TB) git.Program {
	t.Helper()
	p, err := git.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A line is the history of agent a: each commit has one more line in a file.
type line struct {
	t    *testing.T
	r    *Repository
	q    CommitRequest
	text bytes.Buffer
	all  []object.ID
}

func newLine(t *testing.T, r *Repository) *line {
	l := &line{t: t, r: r, q: CommitRequest{Message: "m", Base: seed(t, r, map[string]string{"d/f": "0\n"})}}
	for i := range 300 { // git makes no deltas of little
		fmt.Fprintf(&l.text, "%x ", i*i*i)
	}
	return l
}

func (l *line) commit() {
	l.t.Helper()
	fmt.Fprintf(&l.text, "line %d, which is not the same as any other\n", len(l.all))
	l.q.Changes = []Change{put("d/f", l.text.String())}
	c, err := l.r.CommitChanges(l.t.Context(), agent(l.t, "a"), l.q)
	if err != nil {
		l.t.Fatal(err)
	}
	l.q.Old, l.q.Base, l.all = c.Commit, object.Zero, append(l.all, c.Commit)
}

func (l *line) publish() {
	l.t.Helper()
	if err := l.r.Publish(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// deltas commits, and has git make a pack with deltas of that, as a push brings one. put
// puts it in the place of what it was made of.
func (l *line) deltas() (packed *packFile, put func()) {
	l.t.Helper()
	l.publish()
	for range 3 { // git makes deltas between packs only
		l.commit()
		l.publish()
	}
	set := slices.Clone(l.r.view.Load().packs[:3])
	packed, err := l.r.repack(l.t.Context(), set)
	if err != nil {
		l.t.Fatal(err)
	}
	if has, err := packed.hasDeltas(); !has || err != nil {
		l.t.Fatalf("git made no deltas: %v", err)
	}
	return packed, func() {
		l.r.changeView(func(v *view) {
			v.packs = slices.DeleteFunc(v.packs, func(p *packFile) bool { return slices.Contains(set, p) })
			v.packs = append([]*packFile{packed}, v.packs...)
		})
		for _, p := range set {
			if err := errors.Join(os.Remove(p.base+".idx"), os.Remove(p.base+".pack")); err != nil {
				l.t.Fatal(err)
			}
		}
	}
}

// check reads all of it: commits, trees and files.
func (l *line) check(r *Repository) {
	l.t.Helper()
	for n, id := range l.all {
		c, err := r.Commit(l.t.Context(), id)
		if err != nil {
			l.t.Fatal(err)
		}
		e, err := Find(l.t.Context(), r, c.Tree, "d/f")
		if err != nil {
			l.t.Fatal(err)
		}
		data, err := r.Blob(l.t.Context(), e.ID)
		if err != nil || bytes.Count(data, []byte("\n")) != n+1 || object.Hash(object.TypeBlob, data) != e.ID {
			l.t.Fatalf("commit %d: %d bytes, %v", n, len(data), err)
		}
	}
}

// until publishes commits, which is when the merger looks, until a condition holds.
func (l *line) until(holds func() bool) {
	l.t.Helper()
	for ends := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(ends) {
			l.t.Fatalf("it did not happen: %+v", l.r.Stats())
		}
		l.commit()
		l.publish()
	}
}

// Packs with deltas are merged by git, and again with others: nothing is lost and they
// stay few.
func TestGitMergesDeltas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r.git")
	r, err := Init(t.Context(), dir, mainRef, Options{Git: realGit(t)})
	if err != nil {
		t.Fatal(err)
	}
	l := newLine(t, r)
	for range 3 * fan {
		_, put := l.deltas()
		put()
	}
	l.until(func() bool { return r.Stats().Packs < 2*fan && r.Stats().Repacks > 0 })
	l.check(r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s := r.Stats()
	packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	if err != nil || len(packs) != s.Packs {
		t.Errorf("%+v, %d packs in the folder: %v", s, len(packs), err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "dure", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v %v", left, err)
	}
	fsck(t, dir)
	if r, err = Open(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	l.check(r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// heard passes on what is logged.
type heard chan string

func (h heard) Write(p []byte) (int, error) {
	h <- string(p)
	return len(p), nil
}

// A git that fails is left alone for a while, somebody is told, and all else goes on.
func TestGitThatFails(t *testing.T) {
	dir := t.TempDir()
	fake, sick := filepath.Join(dir, "git"), filepath.Join(dir, "sick")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n[ ! -e " + sick + " ] && exec " + real + " \"$@\"\necho the disk is sick >&2\nexit 1\n"
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := git.Find(t.Context(), fake)
	if err != nil {
		t.Fatal(err)
	}
	said := make(heard, 100)
	r := newRepo(t, Options{Git: program, Log: slog.New(slog.NewTextHandler(said, nil))})
	l := newLine(t, r)
	for range fan - 1 {
		_, put := l.deltas()
		put()
	}
	_, put := l.deltas()
	if err := os.WriteFile(sick, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	put()
	l.until(func() bool { return len(said) > 0 && r.Stats().Merges > 0 })
	l.check(r)
}

// A pack that lacks an object does not take the place of others.
func TestGitThatForgets(t *testing.T) {
	r := newRepo(t, Options{Git: realGit(t)})
	l := newLine(t, r)
	one, put := l.deltas()
	put()
	two, put := l.deltas()
	put()
	if err := r.complete(one.base, []*packFile{one}); err != nil {
		t.Errorf("%v", err)
	}
	if err := r.complete(one.base, []*packFile{one, two}); !errors.Is(err, ErrNotFound) {
		t.Errorf("objects are missing: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.repack(ended, []*packFile{one, two}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
