package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

func newRepo(t *testing.T) *vcs.Repository {
	t.Helper()
	r, err := vcs.Init(t.Context(), filepath.Join(t.TempDir(), "r.git"), "refs/heads/main", vcs.Options{})
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

// tree puts a tree on a branch, so that git finds it too.
func tree(t *testing.T, r *vcs.Repository, branch string, changes ...vcs.Change) object.ID {
	t.Helper()
	d, who := r.Draft(), r.Signature(vcs.Owner())
	id, err := d.Splice(t.Context(), object.Zero, changes)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.PutCommit(t.Context(), object.Commit{Tree: id, Author: who, Committer: who, Message: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(t.Context(), vcs.Owner(), d, vcs.Move{Ref: "refs/heads/" + branch, New: c}); err != nil {
		t.Fatal(err)
	}
	return id
}

func put(path, text string) vcs.Change {
	return vcs.Change{Path: path, Mode: object.ModeFile, Data: []byte(text)}
}

func newCache(t *testing.T, opt Options) *Cache {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "cache"), opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, c *Cache, r vcs.Reader, id object.ID) *Tree {
	t.Helper()
	got, err := c.Get(t.Context(), r, id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What is checked out is what git checks out: content, rights and links.
func TestAsGitChecksOut(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	r, c := newRepo(t), newCache(t, Options{})
	id := tree(t, r, "main", put("README", "hello\n"), put("a/b/c.txt", "c\n"), put("a/b.txt", "hello\n"), put("empty", ""),
		vcs.Change{Path: "run.sh", Mode: object.ModeExecutable, Data: []byte("hello\n")},
		vcs.Change{Path: "link", Mode: object.ModeLink, Data: []byte("../../../etc/passwd")}, put("\xff odd\n名", "x"))
	got := get(t, c, r, id)
	defer got.Release()
	if err := r.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(t.TempDir(), "want")
	syscall.Umask(0o022)
	for _, args := range [][]string{{"clone", "-q", r.Dir(), want}, {"-C", want, "status"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	list := func(dir string) string {
		cmd := exec.Command("sh", "-c", `find . -path ./.git -prune -o -printf '%p %M %l\n' | sort; find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 cat`)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v %s", err, out)
		}
		return string(out)
	}
	if a, b := list(got.Dir), list(want); a != b {
		t.Errorf("checked out\n%s\ngit has\n%s", a, b)
	}
}

// Two trees share what is the same in them; one that goes takes only its own.
func TestTreesShareAndGo(t *testing.T) {
	r, c := newRepo(t), newCache(t, Options{Keep: 1})
	one := tree(t, r, "one", put("same", "same\n"), put("own", "one\n"))
	two := tree(t, r, "two", put("same", "same\n"), put("own", "two\n"))
	a, b := get(t, c, r, one), get(t, c, r, two)
	first, err := os.Stat(filepath.Join(a.Dir, "same"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.Stat(filepath.Join(b.Dir, "same"))
	if err != nil || !os.SameFile(first, second) {
		t.Errorf("a content is there twice: %v", err)
	}
	a.Release()
	a.Release()
	again := get(t, c, r, one)
	if again.Dir != a.Dir {
		t.Errorf("the tree is at %s, and was at %s", again.Dir, a.Dir)
	}
	b.Release()
	again.Release() // one too many: the oldest, two, goes
	if _, err := os.Stat(b.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a tree that nobody holds: %v", err)
	}
	var left []string
	_ = filepath.WalkDir(c.dir, func(path string, d os.DirEntry, _ error) error {
		if !d.IsDir() {
			data, err := os.ReadFile(path)
			left = append(left, fmt.Sprint(string(data), err))
		}
		return nil
	})
	if len(left) != 4 || strings.Contains(strings.Join(left, ""), "two") {
		t.Errorf("left: %q", left)
	}
	if get(t, c, r, two).Dir != b.Dir {
		t.Error("the tree came back elsewhere")
	}
}

// counting says how often objects were read, and fails while it is told to.
type counting struct {
	vcs.Reader
	blobs atomic.Int64
	fail  atomic.Bool
}

func (c *counting) Blob(ctx context.Context, id object.ID) ([]byte, error) {
	c.blobs.Add(1)
	if c.fail.Load() {
		return nil, errors.New("the disk is sick")
	}
	return c.Reader.Blob(ctx, id)
}

// Many who ask at once get one tree, made once. A failure is not remembered, and leaves
// nothing.
func TestManyAskAtOnce(t *testing.T) {
	r, c := newRepo(t), newCache(t, Options{})
	id := tree(t, r, "main", put("a", "1\n"), put("b", "2\n"), put("c/d", "3\n"))
	reads := &counting{Reader: r}
	reads.fail.Store(true)
	if _, err := c.Get(t.Context(), reads, id); err == nil || !strings.Contains(err.Error(), "sick") {
		t.Fatalf("%v", err)
	}
	if left, err := filepath.Glob(filepath.Join(c.dir, "trees", "*")); err != nil || len(left) > 0 || len(c.trees)+len(c.in) > 0 {
		t.Errorf("left %v %v", left, err)
	}
	reads.fail.Store(false)
	reads.blobs.Store(0)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			got, err := c.Get(context.Background(), reads, id)
			if err != nil {
				t.Error(err)
				return
			}
			defer got.Release()
			if data, err := os.ReadFile(filepath.Join(got.Dir, "c", "d")); err != nil || string(data) != "3\n" {
				t.Errorf("%q %v", data, err)
			}
		})
	}
	all.Wait()
	if n := reads.blobs.Load(); n != 3 {
		t.Errorf("%d files were read, want 3", n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ended, r, tree(t, r, "other", put("x", "x"))); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// Trees that come from elsewhere cannot write outside, nor fill the disk.
func TestHostileTrees(t *testing.T) {
	r := newRepo(t)
	blob, sub := object.Hash(object.TypeBlob, []byte("x")), tree(t, r, "main", put("x", "x"))
	raw := func(mode, name string, id object.ID) []byte { return append([]byte(mode+" "+name+"\x00"), id[:]...) }
	for name, data := range map[string][]byte{
		"dots": raw("40000", "..", sub), "slash": raw("100644", "../out", blob), "git": raw("40000", ".git", sub),
		"git on another system": raw("40000", ".GIT", sub), "twice": append(raw("100644", "a", blob), raw("100644", "a", blob)...),
		"a link and a folder": append(raw("120000", "a", blob), raw("40000", "a", sub)...),
	} {
		c := newCache(t, Options{})
		fake := fakeTree{r, object.Hash(object.TypeTree, data), data}
		if _, err := c.Get(t.Context(), fake, fake.id); err == nil {
			t.Errorf("%s: was checked out", name)
		}
		if all, err := filepath.Glob(filepath.Join(c.dir, "*")); err != nil || len(all) != 2 {
			t.Errorf("%s: the folder has %v %v", name, all, err)
		}
	}
	// A tree of ten folders that are a tree of ten folders that are ...
	bomb, d := sub, r.Draft()
	for range 12 {
		var entries []object.Entry
		for i := range 10 {
			entries = append(entries, object.Entry{Name: fmt.Sprint(i), Mode: object.ModeTree, ID: bomb})
		}
		var err error
		if bomb, err = d.PutTree(entries); err != nil {
			t.Fatal(err)
		}
	}
	c := newCache(t, Options{Files: 500})
	if _, err := c.Get(t.Context(), d, bomb); !errors.Is(err, ErrTooLarge) {
		t.Errorf("10^12 files: %v", err)
	}
	c = newCache(t, Options{Bytes: 100})
	same := tree(t, r, "same", put("a", strings.Repeat("x", 60)), put("b", strings.Repeat("x", 60)))
	if _, err := c.Get(t.Context(), r, same); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a content that is there twice: %v", err)
	}
}

// fakeTree is a reader with a tree that no store would have taken.
type fakeTree struct {
	vcs.Reader
	id   object.ID
	data []byte
}

func (f fakeTree) Tree(ctx context.Context, id object.ID) ([]byte, error) {
	if id == f.id {
		return f.data, nil
	}
	return f.Reader.Tree(ctx, id)
}
