package vcs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/runtime/vcs/object"
)

// What an agent's commit may not bring is refused by type and leaves no trace; what
// git keeps is kept as git would.
func TestHostileCommits(t *testing.T) {
	r := newRepo(t, Options{Limits: Limits{Blob: 1000, Commit: 1500, Paths: 20, Message: 100}})
	base := seed(t, r, map[string]string{"dir/f": "f\n", "file": "x\n"})
	tree, err := r.TreeAt(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	many := make([]Change, 21)
	for i := range many {
		many[i] = put(fmt.Sprint(i), "x")
	}
	kim := agent(t, "kim")
	one := func(c Change) []Change { return []Change{c} }
	for name, x := range map[string]struct {
		changes []Change
		want    error // nil: taken
	}{
		"dot dot":                   {one(put("../x", "x")), object.ErrPath},
		"dot dot within":            {one(put("a/../../x", "x")), object.ErrPath},
		"absolute":                  {one(put("/etc/passwd", "x")), object.ErrPath},
		"empty":                     {one(put("", "x")), object.ErrPath},
		"empty part":                {one(put("a//b", "x")), object.ErrPath},
		"ends in a slash":           {one(put("a/", "x")), object.ErrPath},
		"NUL":                       {one(put("a\x00b", "x")), object.ErrPath},
		".git":                      {one(put(".git/hooks/post-checkout", "x")), object.ErrPath},
		".GIT below":                {one(put("a/.GIT/config", "x")), object.ErrPath},
		"git~1":                     {one(put("git~1/config", "x")), object.ErrPath},
		"joiner":                    {one(put(".g\u200cit/config", "x")), object.ErrPath},
		"name too long":             {one(put(strings.Repeat("n", 256), "x")), object.ErrPath},
		"path too long":             {one(put(strings.Repeat("n/", 2100)+"x", "x")), object.ErrPath},
		"deleting .git":             {one(Change{Path: ".git"}), object.ErrPath},
		"FIFO":                      {one(Change{Path: "p", Mode: 0o010644}), object.ErrPath},
		"device":                    {one(Change{Path: "p", Mode: 0o020644}), object.ErrPath},
		"setuid":                    {one(Change{Path: "p", Mode: 0o104755}), object.ErrPath},
		"folder":                    {one(Change{Path: "p", Mode: object.ModeTree, Blob: tree}), object.ErrPath},
		"submodule":                 {one(Change{Path: "p", Mode: object.ModeGitlink, Blob: base}), object.ErrPath},
		".gitmodules":               {one(put("a/.GitModules", "[submodule]")), object.ErrPath},
		".gitmodules short":         {one(put("GITMOD~1", "[submodule]")), object.ErrPath},
		".gitattributes":            {one(put(".gitattributes", strings.Repeat("a", 900)+"\n"+strings.Repeat("b", 99))), nil},
		"link without target":       {one(Change{Path: "l", Mode: object.ModeLink}), object.ErrPath},
		"through a file":            {one(put("file/x", "x")), object.ErrPath},
		"over a folder":             {one(put("dir", "x")), object.ErrPath},
		"twice":                     {[]Change{put("a", "1"), put("a", "2")}, ErrInvalid},
		"file and folder":           {[]Change{put("a", "1"), put("a/b", "2")}, ErrInvalid},
		"folder and file":           {[]Change{put("a/b", "1"), put("a", "2")}, ErrInvalid},
		"deleting nothing":          {one(Change{Path: "nope"}), ErrNoPath},
		"a large file":              {one(put("a", strings.Repeat("x", 1001))), ErrTooLarge},
		"large together":            {[]Change{put("a", strings.Repeat("x", 900)), put("b", strings.Repeat("x", 900))}, ErrTooLarge},
		"many paths":                {many, ErrTooLarge},
		"an object that is not":     {one(Change{Path: "a", Mode: object.ModeFile, Blob: object.ID{1}}), ErrNotFound},
		"a tree as a file":          {one(Change{Path: "a", Mode: object.ModeFile, Blob: tree}), ErrType},
		"no change":                 {one(put("file", "x\n")), ErrNothing},
		"control bytes":             {one(put("a\x01\n\x7f", "x")), nil},
		"not UTF-8":                 {one(put("a\xff\xfe/b", "x")), nil},
		"differ by case":            {[]Change{put("Name", "1"), put("name", "2"), put("NAME/x", "3")}, nil},
		"link out of the tree":      {one(Change{Path: "l", Mode: object.ModeLink, Data: []byte("../../../etc")}), nil},
		"file for a folder":         {[]Change{{Path: "dir"}, put("dir", "x")}, nil},
		"link for a folder":         {[]Change{{Path: "dir"}, {Path: "dir", Mode: object.ModeLink, Data: []byte("/tmp")}}, nil},
		"folder for a file":         {[]Change{{Path: "file"}, put("file/x", "x")}, nil},
		"the last file of a folder": {one(Change{Path: "dir/f"}), nil},
		"everything":                {[]Change{{Path: "dir"}, {Path: "file"}}, nil},
	} {
		at, _ := r.Ref(kim.Branch())
		c, err := r.CommitChanges(t.Context(), kim, CommitRequest{Base: base, Message: "m", Changes: x.changes})
		if !errors.Is(err, x.want) || x.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
		if x.want != nil {
			if now, _ := r.Ref(kim.Branch()); now != at {
				t.Errorf("%s: the branch has moved", name)
			}
			continue
		}
		if err := r.Apply(t.Context(), Owner(), nil, Move{kim.Branch(), c.Commit, object.Zero}, Move{fmt.Sprintf("refs/kept/%v", c.Commit), object.Zero, c.Commit}); err != nil && !errors.Is(err, ErrStale) {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, message := range []string{"", " \n", "a\x00b", "\xff", strings.Repeat("m", 101)} {
		if _, err := r.CommitChanges(t.Context(), kim, CommitRequest{Base: base, Message: message, Changes: one(put("a", "x"))}); !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrTooLarge) {
			t.Errorf("message %q: %v", message, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "../x", "A", "a b", "-a", "a-", "a..b", "a.lock", strings.Repeat("a", 65), "é", "a\n"} {
		if _, err := Agent(name); !errors.Is(err, ErrInvalid) {
			t.Errorf("agent %q: %v", name, err)
		}
	}
	if err := r.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	fsck(t, r.Dir())
}

// A checkout of what was kept writes nothing outside of itself: links stay links.
func TestCheckoutStaysInside(t *testing.T) {
	r := newRepo(t, Options{})
	base := seed(t, r, map[string]string{"f": "x\n"})
	outside := t.TempDir()
	kim := agent(t, "kim")
	c, err := r.CommitChanges(t.Context(), kim, CommitRequest{Base: base, Message: "m", Changes: []Change{
		{Path: "out", Mode: object.ModeLink, Data: []byte(outside)}, {Path: "up", Mode: object.ModeLink, Data: []byte("../../..")}, put("a\xff\n", "x"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.CommitChanges(t.Context(), kim, CommitRequest{Old: c.Commit, Message: "m", Changes: []Change{put("out/pwned", "x")}}); !errors.Is(err, object.ErrPath) {
		t.Fatalf("a file through a link: %v", err)
	}
	// The link gives way to a folder, in one commit: a checkout goes from one to the other.
	if _, err := r.CommitChanges(t.Context(), kim, CommitRequest{Old: c.Commit, Message: "m", Changes: []Change{{Path: "out"}, put("out/pwned", "x")}}); err != nil {
		t.Fatal(err)
	}
	if err := r.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "checkout")
	runGit(t, ".", "clone", "-q", "-b", "agent/kim", r.Dir(), dir)
	runGit(t, dir, "checkout", "-q", "HEAD~")
	runGit(t, dir, "checkout", "-q", "agent/kim")
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Fatalf("outside there is %v %v", left, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "out", "pwned")); err != nil || string(data) != "x" {
		t.Fatalf("%q %v", data, err)
	}
}

func TestHundredThousandFiles(t *testing.T) {
	const n = 100_000
	r := newRepo(t, Options{})
	changes := make([]Change, n)
	for i := range changes {
		changes[i] = put(fmt.Sprintf("d%d/e%d/f%d", i%10, i%1000, i), fmt.Sprint(i%100))
	}
	kim := agent(t, "kim")
	c, err := r.CommitChanges(t.Context(), kim, CommitRequest{Message: "many", Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	before := r.Stats().Objects
	if _, err := r.CommitChanges(t.Context(), kim, CommitRequest{Old: c.Commit, Message: "one", Changes: []Change{put("d5/e5/f5", "changed")}}); err != nil {
		t.Fatal(err)
	}
	// A file, three trees, a commit: what a commit costs follows what it changes.
	if got := r.Stats().Objects - before; got != 5 {
		t.Errorf("a change of one file wrote %d objects", got)
	}
	if err := r.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	fsck(t, r.Dir())
	if got := strings.Count(runGit(t, r.Dir(), "ls-tree", "-r", "--name-only", "agent/kim"), "\n") + 1; got != n {
		t.Errorf("git lists %d files", got)
	}
}

func TestRefNamesAsGitJudgesThem(t *testing.T) {
	for _, name := range []string{
		"refs/heads/a", "refs/heads/agent/kim", "refs/heads/a.b", "refs/heads/a..b", "refs/heads/.a", "refs/heads/a.", "refs/heads/a.lock",
		"refs/heads/a.lock/b", "refs/heads//a", "refs/heads/a/", "refs/heads/a b", "refs/heads/a~1", "refs/heads/a^", "refs/heads/a:b",
		"refs/heads/a?", "refs/heads/a*", "refs/heads/[a", `refs/heads/a\b`, "refs/heads/a@{b", "refs/heads/@", "refs/heads/a\x01", "refs/heads/a\x7f",
		"refs/heads/\xff", "refs/heads/-a", "/refs/heads/a",
	} {
		_, err := tryGit(".", "check-ref-format", name)
		if ours := CheckRef(name); (ours == nil) != (err == nil) {
			t.Errorf("%q: %v, git says %v", name, ours, err)
		}
	}
	for _, name := range []string{"HEAD", "refs/a", "refs", "config", "../refs/heads/a"} {
		if !errors.Is(CheckRef(name), ErrInvalid) {
			t.Errorf("%q is taken", name)
		}
	}
}

// Another program that moves refs in the folder is told that it may not.
func TestOthersMayNotWrite(t *testing.T) {
	r := newRepo(t, Options{})
	base := seed(t, r, map[string]string{"f": "x\n"})
	if err := r.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"update-ref", "refs/heads/x", base.String()}, {"branch", "x", "main"}, {"gc", "--prune=now"}, {"repack", "-a", "-d"}} {
		if out, err := tryGit(r.Dir(), args...); err == nil {
			t.Errorf("git %v: %s", args, out)
		}
	}
	clone := filepath.Join(t.TempDir(), "clone")
	runGit(t, ".", "clone", "-q", r.Dir(), clone)
	if out, err := tryGit(clone, "push", "origin", "HEAD:x"); err == nil || !strings.Contains(out, "belongs to dure") {
		t.Errorf("a push to the folder: %v %s", err, out)
	}
	fsck(t, r.Dir())
}
