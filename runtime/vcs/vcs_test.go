package vcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dure/runtime/vcs/object"
)

const mainRef = "refs/heads/main"

// newRepo is a repository that is closed with the test, and its folder.
func newRepo(t testing.TB, opt Options) *Repository {
	t.Helper()
	r, err := Init(t.Context(), filepath.Join(t.TempDir(), "r.git"), mainRef, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func agent(t testing.TB, name string) Actor {
	t.Helper()
	a, err := Agent(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// runGit runs the real one, without anybody's settings.
func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@x")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// fsck is git's judgement of the folder, which must be clean.
func fsck(t testing.TB, dir string) {
	t.Helper()
	out := runGit(t, dir, "fsck", "--strict", "--full", "--no-dangling")
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "notice: ") { // that there is no commit yet
			t.Fatalf("git fsck: %s", out)
		}
	}
}

// seed makes main with files.
func seed(t testing.TB, r *Repository, files map[string]string) object.ID {
	t.Helper()
	ctx := t.Context()
	var changes []Change
	for path, text := range files {
		changes = append(changes, Change{Path: path, Mode: object.ModeFile, Data: []byte(text)})
	}
	d := r.Draft()
	tree, err := d.Splice(ctx, object.Zero, changes)
	if err != nil {
		t.Fatal(err)
	}
	who := r.Signature(Owner())
	id, err := d.PutCommit(ctx, object.Commit{Tree: tree, Author: who, Committer: who, Message: "begin"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(ctx, Owner(), d, Move{Ref: r.Main(), New: id}); err != nil {
		t.Fatal(err)
	}
	return id
}

func put(path, text string) Change {
	return Change{Path: path, Mode: object.ModeFile, Data: []byte(text)}
}

func TestCommitsThatGitReads(t *testing.T) {
	r := newRepo(t, Options{})
	base := seed(t, r, map[string]string{"README": "hello\n", "a/b/c.txt": "c\n", "a/b.txt": "b\n", "z": "z\n"})
	kim := agent(t, "kim")
	one, err := r.CommitChanges(t.Context(), kim, CommitRequest{Base: base, Message: "first", Changes: []Change{
		put("a/b/d.txt", "d\n"), {Path: "z"}, {Path: "run.sh", Mode: object.ModeExecutable, Data: []byte("#!/bin/sh\n")},
		{Path: "link", Mode: object.ModeLink, Data: []byte("a/b.txt")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	two, err := r.CommitChanges(t.Context(), kim, CommitRequest{Old: one.Commit, Message: "second", Changes: []Change{
		{Path: "a/b"}, put("a/b", "now a file\n"), // a folder becomes a file
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	fsck(t, r.Dir())
	if got := runGit(t, r.Dir(), "rev-parse", "agent/kim"); got != two.Commit.String() {
		t.Errorf("git sees the branch at %s, want %v", got, two.Commit)
	}
	want := "100644 README\n100644 a/b\n100644 a/b.txt\n120000 link\n100755 run.sh"
	if got := runGit(t, r.Dir(), "ls-tree", "-r", "--format=%(objectmode) %(path)", "agent/kim"); got != want {
		t.Errorf("git lists\n%s\nwant\n%s", got, want)
	}
	if got := runGit(t, r.Dir(), "log", "--format=%an <%ae> %cn %s", "agent/kim"); got != "kim <kim@agents.invalid> kim second\nkim <kim@agents.invalid> kim first\nowner <owner@agents.invalid> owner begin" {
		t.Errorf("git log: %s", got)
	}
}

// Hundreds commit at once: each on its branch, every commit there, in its order.
func TestManyWriters(t *testing.T) {
	const writers, each = 500, 6
	r := newRepo(t, Options{})
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("d%d/f%d", i%10, i)] = fmt.Sprintf("file %d\n", i)
	}
	base := seed(t, r, files)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			a := agent(t, fmt.Sprintf("a%d", w))
			var at object.ID
			for i := range each {
				q := CommitRequest{Old: at, Message: fmt.Sprintf("commit %d", i), Changes: []Change{put(fmt.Sprintf("d%d/f%d", w%10, w%100), fmt.Sprintf("%d of %d\n", i, w))}}
				if i == 0 {
					q.Base = base
				}
				c, err := r.CommitChanges(context.Background(), a, q)
				if err != nil {
					t.Error(err)
					return
				}
				at = c.Commit
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	if err := r.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	fsck(t, r.Dir())
	if got := runGit(t, r.Dir(), "rev-list", "--count", "--all"); got != fmt.Sprint(writers*each+1) {
		t.Errorf("%s commits, want %d", got, writers*each+1)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	runGit(t, ".", "clone", "-q", r.Dir(), clone)
	if got := runGit(t, clone, "for-each-ref", "--count=1000", "--format=x", "refs/remotes/origin/agent"); strings.Count(got, "x") != writers {
		t.Errorf("the clone has %d branches, want %d", strings.Count(got, "x"), writers)
	}
	for w := 0; w < writers; w += 37 {
		got := runGit(t, r.Dir(), "log", "--format=%an %s", fmt.Sprintf("main..agent/a%d", w))
		var want []string
		for i := range each {
			want = append([]string{fmt.Sprintf("a%d commit %d", w, i)}, want...)
		}
		if got != strings.Join(want, "\n") {
			t.Errorf("branch a%d:\n%s", w, got)
		}
	}
}

// What was acknowledged is there after the folder was closed and opened, and what
// was not sealed too.
func TestOpenAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r.git")
	r, err := Init(t.Context(), dir, mainRef, Options{})
	if err != nil {
		t.Fatal(err)
	}
	base := seed(t, r, map[string]string{"f": "0\n"})
	if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second owner: %v", err)
	}
	at, a := object.Zero, agent(t, "a")
	for i := range 5 {
		q := CommitRequest{Old: at, Message: "m", Changes: []Change{put("f", fmt.Sprint(i))}}
		if i == 0 {
			q.Base = base
		}
		c, err := r.CommitChanges(t.Context(), a, q)
		if err != nil {
			t.Fatal(err)
		}
		at = c.Commit
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		left, err := filepath.Glob(filepath.Join(dir, "dure", "*"))
		if err != nil || len(left) != 1 {
			t.Fatalf("left in the folder: %v %v", left, err)
		}
		fsck(t, dir)
		if r, err = Open(t.Context(), dir, Options{}); err != nil {
			t.Fatal(err)
		}
		if got, _ := r.Ref(BranchOf("a")); got != at {
			t.Fatalf("after opening again the branch is at %v, want %v", got, at)
		}
		e, err := Find(t.Context(), r, c.Tree, "f")
		if err != nil {
			t.Fatal(err)
		}
		if data, err := r.Blob(t.Context(), e.ID); err != nil || string(data) != fmt.Sprint(i) {
			t.Fatalf("%q %v", data, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error("closing twice:", err)
	}
	if _, err := r.CommitChanges(t.Context(), a, CommitRequest{Old: at, Message: "m", Changes: []Change{put("f", "x")}}); !errors.Is(err, ErrClosed) {
		t.Errorf("a commit after closing: %v", err)
	}
	if err := r.Publish(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("publishing after closing: %v", err)
	}
	other := filepath.Join(t.TempDir(), "plain.git")
	runGit(t, ".", "init", "-q", "--bare", other)
	if _, err := Open(t.Context(), other, Options{}); !errors.Is(err, ErrForeign) {
		t.Errorf("a plain repository: %v", err)
	}
	if _, err := os.Stat(filepath.Join(other, "dure")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was left in it: %v", err)
	}
}

// Who may move what.
func TestOnlyOnesOwnBranch(t *testing.T) {
	var heard []Refusal
	r := newRepo(t, Options{Audit: func(x Refusal) { heard = append(heard, x) }})
	base := seed(t, r, map[string]string{"f": "0\n"})
	kim := agent(t, "kim")
	c, err := r.CommitChanges(t.Context(), kim, CommitRequest{Base: base, Message: "m", Changes: []Change{put("f", "1\n")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		who  Actor
		move Move
		ok   bool
	}{
		{kim, Move{mainRef, base, c.Commit}, false},
		{kim, Move{BranchOf("lee"), object.Zero, c.Commit}, false},
		{kim, Move{GreenRef, object.Zero, base}, false},
		{kim, Move{"refs/tags/v1", object.Zero, base}, false},
		{kim, Move{BranchOf("kim"), c.Commit, object.Zero}, false},
		{kim, Move{BranchOf("kim"), c.Commit, base}, true},
		{Actor{}, Move{BranchOf("kim"), base, c.Commit}, false},
		{Owner(), Move{mainRef, base, c.Commit}, false},
		{Landing(), Move{BranchOf("kim"), base, c.Commit}, false},
		{Landing(), Move{mainRef, base, object.Zero}, false},
		{Landing(), Move{mainRef, base, c.Commit}, true},
		{Landing(), Move{GreenRef, object.Zero, base}, true},
		{Owner(), Move{BranchOf("kim"), base, object.Zero}, true},
	} {
		heard = nil
		err := r.Apply(t.Context(), x.who, nil, x.move)
		if x.ok != (err == nil) || !x.ok && !errors.Is(err, ErrRefused) {
			t.Errorf("%v moves %v: %v", x.who, x.move, err)
		}
		if x.ok != (len(heard) == 0) || !x.ok && (heard[0].Ref != x.move.Ref || heard[0].Actor != x.who) {
			t.Errorf("%v moves %v: the record has %v", x.who, x.move, heard)
		}
	}
}

// Moves happen together or not at all, and from where their mover saw the ref.
func TestRacesForRefs(t *testing.T) {
	r := newRepo(t, Options{})
	base := seed(t, r, map[string]string{"f": "0\n"})
	green := Move{GreenRef, object.Zero, base}
	var stale *StaleError
	err := r.Apply(t.Context(), Landing(), nil, green, Move{mainRef, object.Zero, base})
	if !errors.As(err, &stale) || stale.Ref != mainRef || stale.Actual != base {
		t.Fatalf("%v", err)
	}
	if _, there := r.Ref(GreenRef); there {
		t.Fatal("one of two moves happened")
	}
	for _, name := range []string{"refs/heads/x", "refs/heads/x/y", "refs/heads"} {
		err := r.Apply(t.Context(), Owner(), nil, Move{name, object.Zero, base})
		if ok := name == "refs/heads/x"; ok != (err == nil) || !ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Apply(t.Context(), Owner(), nil, Move{"refs/x/y", object.Zero, base}, Move{"refs/x/y/z", object.Zero, base}); !errors.Is(err, ErrInvalid) {
		t.Errorf("two refs, one below the other: %v", err)
	}
	if err := r.Apply(t.Context(), Owner(), nil, Move{"refs/heads/q", object.Zero, object.ID{1}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a ref to nothing: %v", err)
	}
	tree, _ := r.TreeAt(t.Context(), base)
	if err := r.Apply(t.Context(), Owner(), nil, Move{"refs/heads/q", object.Zero, tree}); !errors.Is(err, ErrType) {
		t.Errorf("a branch to a tree: %v", err)
	}
	// 50 race for one ref: one wins each round.
	a := agent(t, "a")
	at := object.Zero
	for round := range 4 {
		var all sync.WaitGroup
		var mu sync.Mutex
		var won []object.ID
		for i := range 50 {
			all.Go(func() {
				q := CommitRequest{Old: at, Message: "m", Changes: []Change{put("f", fmt.Sprint(round, i))}}
				if at.IsZero() {
					q.Base = base
				}
				c, err := r.CommitChanges(context.Background(), a, q)
				if err == nil {
					mu.Lock()
					won = append(won, c.Commit)
					mu.Unlock()
				} else if !errors.Is(err, ErrStale) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if now, _ := r.Ref(a.Branch()); len(won) != 1 || won[0] != now {
			t.Fatalf("round %d: %d won", round, len(won))
		}
		at = won[0]
	}
}

func TestReadersSeeGitsPacks(t *testing.T) {
	r := newRepo(t, Options{})
	base := seed(t, r, map[string]string{"f": strings.Repeat("a line of text\n", 2000)})
	if err := r.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := runGit(t, r.Dir(), "cat-file", "-p", "main:f")
	e, err := Find(t.Context(), r, must(r.TreeAt(t.Context(), base)), "f")
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Blob(t.Context(), e.ID)
	if err != nil || !bytes.Equal(bytes.TrimSpace(data), []byte(want)) {
		t.Fatalf("%d bytes, git says %d: %v", len(data), len(want), err)
	}
	if _, err := r.Tree(t.Context(), e.ID); !errors.Is(err, ErrType) {
		t.Errorf("a file read as a tree: %v", err)
	}
	if _, err := r.Blob(t.Context(), object.ID{7}); !errors.Is(err, ErrNotFound) {
		t.Errorf("an object that is not there: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
