package exchange

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dure/runtime/vcs"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/object"
)

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=pat", "GIT_AUTHOR_EMAIL=p@p", "GIT_COMMITTER_NAME=pat", "GIT_COMMITTER_EMAIL=p@p")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// persons is a checkout with history, deltas in a pack, and work in progress.
func persons(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "person")
	gitIn(t, ".", "init", "-q", "-b", "trunk", dir)
	for i := range 12 {
		write(t, dir, "big.txt", strings.Repeat("the same line again\n", 500)+fmt.Sprintf("version %d\n", i))
		gitIn(t, dir, "add", ".")
		gitIn(t, dir, "commit", "-q", "-m", fmt.Sprintf("version %d", i))
	}
	gitIn(t, dir, "repack", "-q", "-a", "-d", "-f", "--depth=20")
	write(t, dir, "big.txt", "in progress\n")
	write(t, dir, "new.txt", "untracked\n")
	return dir
}

// state is all of a checkout that an export must leave alone.
func state(t *testing.T, dir string) string {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	status := gitIn(t, dir, "--no-optional-locks", "status", "--porcelain")
	return fmt.Sprintf("%x %s %s", index, gitIn(t, dir, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD"), status)
}

func TestThereAndBack(t *testing.T) {
	dir := persons(t)
	before := state(t, dir)
	program, err := git.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	r, got, err := Import(t.Context(), program, Source{Path: dir}, filepath.Join(t.TempDir(), "r.git"), vcs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if out, err := tryGit(r.Dir(), "fsck", "--strict", "--full"); err != nil || out != "" {
			t.Errorf("git fsck: %v %s", err, out)
		}
	}()
	if got.Branch != "refs/heads/trunk" || r.Main() != got.Branch || fmt.Sprint(got.Uncommitted) != "[big.txt new.txt]" {
		t.Errorf("imported %+v, main is %s", got, r.Main())
	}
	// Every version is read, through the deltas that git has made.
	for at, n := got.Commit, 11; n >= 0; n-- {
		tree, err := r.TreeAt(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		e, err := vcs.Find(t.Context(), r, tree, "big.txt")
		if err != nil {
			t.Fatal(err)
		}
		data, err := r.Blob(t.Context(), e.ID)
		if err != nil || object.Hash(object.TypeBlob, data) != e.ID || !strings.HasSuffix(string(data), fmt.Sprintf("version %d\n", n)) {
			t.Fatalf("version %d: %d bytes: %v", n, len(data), err)
		}
		if _, size, err := r.Stat(t.Context(), e.ID); err != nil || size != uint64(len(data)) {
			t.Errorf("version %d: stat says %d bytes, there are %d: %v", n, size, len(data), err)
		}
		c, err := r.Commit(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			at = c.Parents[0]
		}
	}
	kim, err := vcs.Agent("kim")
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.CommitChanges(t.Context(), kim, vcs.CommitRequest{Base: got.Commit, Message: "m", Changes: []vcs.Change{{Path: "x", Mode: object.ModeFile, Data: []byte("x")}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Export(t.Context(), program, r, c.Commit, dir, "dure/result"); err != nil {
		t.Fatal(err)
	}
	if got := gitIn(t, dir, "rev-parse", "dure/result"); got != c.Commit.String() {
		t.Errorf("the new branch is at %s", got)
	}
	if after := state(t, dir); after != before {
		t.Errorf("the checkout has changed:\n%s\nwas\n%s", after, before)
	}
	gitIn(t, dir, "fsck", "--strict")
	for _, name := range []string{"dure/result", "trunk"} {
		if err := Export(t.Context(), program, r, c.Commit, dir, name); !errors.Is(err, ErrTaken) {
			t.Errorf("export to %s: %v", name, err)
		}
	}
	if err := Export(t.Context(), program, r, c.Commit, dir, "../x"); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("export to a bad name: %v", err)
	}
}

func TestWhatIsNotImported(t *testing.T) {
	program, err := git.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := persons(t)
	shallow := filepath.Join(t.TempDir(), "shallow")
	gitIn(t, ".", "clone", "-q", "--depth", "1", "file://"+dir, shallow)
	sha256 := filepath.Join(t.TempDir(), "sha256")
	gitIn(t, ".", "init", "-q", "--object-format=sha256", sha256)
	empty := filepath.Join(t.TempDir(), "empty")
	gitIn(t, ".", "init", "-q", empty)
	for name, from := range map[string]Source{
		"cut-off history": {Path: shallow}, "SHA-256": {Path: sha256}, "no commit": {Path: empty},
		"no such branch": {Path: dir, Branch: "nope"},
	} {
		to := filepath.Join(t.TempDir(), "r.git")
		if _, _, err := Import(t.Context(), program, from, to, vcs.Options{}); !errors.Is(err, ErrSource) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was made: %v", name, err)
		}
	}
	if _, err := git.Find(t.Context(), "/nonexistent/git"); !errors.Is(err, git.ErrMissing) {
		t.Errorf("no git: %v", err)
	}
	bare := filepath.Join(t.TempDir(), "bare.git")
	gitIn(t, ".", "clone", "-q", "--bare", dir, bare)
	r, got, err := Import(t.Context(), program, Source{Path: bare, Branch: "trunk"}, filepath.Join(t.TempDir(), "r.git"), vcs.Options{})
	if err != nil || len(got.Uncommitted) != 0 {
		t.Fatalf("a bare one: %+v %v", got, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
