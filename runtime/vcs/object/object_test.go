package object

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func gitIn(t testing.TB, dir string, in []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(in)
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil && args[0] != "fsck" {
		t.Fatalf("git %v: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A name is refused where git refuses a tree that has it, but for lengths, which
// git does not look at.
func TestNamesAsGitJudgesThem(t *testing.T) {
	names := []string{
		"a", "a b", " ", "-", "a\n", "\x01", "\xff", "A\xff.git", ".gitignore", ".gitattributes", ".git2", "git", "gits~1", "GIT~2", "git~10",
		".", "..", "...", ".git", ".GIT", ".Git ", ".git.", ".git . .", ".git..x", ".git:x", ".git::$INDEX", "git~1", "GIT~1", "git~1.", "git~1 x", "git~1:",
		`a\b`, `\`, `.git\x`, `x\.git`, `x\git~1`, `x\.git `, `.git\`, `..\x`,
		".g\u200cit", "\u200c.git", ".git\u200d", ".gi\ufefft", ".g\u0131t", ".git\xff", "\u202a.GIT", ".g\u200bit", "\u206f.git\u206a",
		".gitmodules", "gitmod~1", "con", "aux.txt", "a:b", "a*", "~", "a/b", "/", "/etc", "",
	}
	dir := t.TempDir()
	gitIn(t, dir, nil, "init", "-q", "--bare")
	blob := gitIn(t, dir, []byte("x"), "hash-object", "-w", "--stdin")
	id, err := ParseID(blob)
	if err != nil {
		t.Fatal(err)
	}
	trees := map[string]string{}
	for _, n := range names {
		tree := AppendEntry(nil, Entry{Name: n, Mode: ModeFile, ID: id})
		trees[n] = gitIn(t, dir, tree, "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	}
	verdict := gitIn(t, dir, nil, "fsck", "--strict", "--no-dangling")
	for _, n := range names {
		good := !strings.Contains(verdict, "tree "+trees[n])
		if ours := CheckName(n) == nil; ours != good {
			t.Errorf("%q: taken %v, by git %v", n, ours, good)
		}
		_, err := CheckTree(AppendEntry(nil, Entry{Name: n, Mode: ModeFile, ID: id}))
		if (err == nil) != good {
			t.Errorf("tree with %q: %v, by git %v", n, err, good)
		}
	}
	if CheckName(strings.Repeat("n", MaxName)) != nil || CheckName(strings.Repeat("n", MaxName+1)) == nil {
		t.Error("the limit of a name")
	}
	if CheckPath(strings.Repeat("n/", MaxPath/2)+"n") != nil || CheckPath(strings.Repeat("n/", MaxPath/2)+"nn") == nil {
		t.Error("the limit of a path")
	}
}

func TestCommitsAreGits(t *testing.T) {
	dir := t.TempDir()
	gitIn(t, dir, nil, "init", "-q", "--bare")
	tree := gitIn(t, dir, nil, "hash-object", "-w", "-t", "tree", "--stdin")
	id, err := ParseID(tree)
	if err != nil {
		t.Fatal(err)
	}
	c := Commit{Tree: id, Author: Signature{"Kim", "k@x", time.Unix(1_700_000_000, 0).In(time.FixedZone("", -5400))},
		Committer: Signature{"Lee", "", time.Unix(0, 0).UTC()}, Message: "one\n\ntwo\n"}
	data := FormatCommit(c)
	// Without --literally git checks what it is given.
	if got := gitIn(t, dir, data, "hash-object", "-t", "commit", "-w", "--stdin"); got != Hash(TypeCommit, data).String() {
		t.Errorf("git names it %s", got)
	}
	c.Parents = []ID{Hash(TypeCommit, data)}
	c.Extra = "encoding UTF-8\nx-other one\n two\n"
	back, err := ParseCommit(FormatCommit(c))
	if err != nil || !bytes.Equal(FormatCommit(back), FormatCommit(c)) || back.Author.Name != "Kim" || back.Message != c.Message {
		t.Errorf("%+v %v", back, err)
	}
	for what, bad := range map[string]string{
		"no tree":       "parent " + tree + "\n",
		"capital ID":    strings.Replace(string(data), tree, strings.ToUpper(tree), 1),
		"no author":     strings.Replace(string(data), "author", "auther", 1),
		"no time":       strings.Replace(string(data), " 1700000000", "", 1),
		"leading zero":  strings.Replace(string(data), " 1700000000", " 01", 1),
		"negative time": strings.Replace(string(data), " 1700000000", " -1", 1),
		"zone":          strings.Replace(string(data), "-0130", "0130", 1),
		"brackets":      strings.Replace(string(data), "<k@x>", "<k<x>", 1),
		"NUL":           string(data) + "\x00",
	} {
		if _, err := ParseCommit([]byte(bad)); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
}

// Edit gives what sorting all entries anew gives.
func TestEditIsSorted(t *testing.T) {
	name := rapid.StringMatching(`[a-c.\-0]{1,3}`)
	entry := rapid.Custom(func(t *rapid.T) Entry {
		mode := rapid.SampledFrom([]Mode{ModeFile, ModeTree, ModeExecutable, ModeLink}).Draw(t, "mode")
		return Entry{name.Draw(t, "name"), mode, ID{1, rapid.Byte().Draw(t, "id")}}
	})
	distinct := func(e Entry) string { return e.Name }
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfNDistinct(entry, 0, 12, distinct).Draw(t, "entries")
		slices.SortFunc(entries, CompareEntries)
		edits := rapid.SliceOfNDistinct(entry, 1, 5, distinct).Draw(t, "edits")
		want := map[string]Entry{}
		for _, e := range entries {
			want[e.Name] = e
		}
		for i := range edits {
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				edits[i].Mode = 0
				delete(want, edits[i].Name)
				continue
			}
			want[edits[i].Name] = edits[i]
		}
		var sorted []Entry
		for _, e := range want {
			sorted = append(sorted, e)
		}
		slices.SortFunc(sorted, CompareEntries)
		before := FormatTree(entries)
		kept := bytes.Clone(before)
		got, err := Edit(before, edits)
		if err != nil || !bytes.Equal(got, FormatTree(sorted)) || !bytes.Equal(before, kept) {
			t.Fatalf("%q, want %q: %v", got, FormatTree(sorted), err)
		}
		if back, err := ParseTree(got); err != nil || fmt.Sprint(back) != fmt.Sprint(sorted) {
			t.Fatalf("%v %v", back, err)
		}
	})
}

func FuzzTree(f *testing.F) {
	f.Add(FormatTree([]Entry{{"a", ModeFile, ID{1}}, {"b", ModeTree, ID{2}}}))
	f.Add([]byte("100644 a\x00"))
	f.Add([]byte("40000 a\x0012345678901234567890"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if entries, err := ParseTree(data); err == nil && !bytes.Equal(FormatTree(entries), data) {
			t.Fatalf("%q comes back as %q", data, FormatTree(entries))
		}
		_, _ = CheckTree(data)
		_, _ = Edit(data, []Entry{{"x", ModeFile, ID{1}}, {"y", 0, ID{}}})
	})
}

func FuzzCommit(f *testing.F) {
	f.Add(FormatCommit(Commit{Author: Signature{"a", "b", time.Unix(1, 0)}, Committer: Signature{"a", "b", time.Unix(1, 0)}, Message: "m\n"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCommit(data)
		if err != nil {
			return
		}
		tree, parents, err := Links(data)
		if err != nil || tree != c.Tree || !slices.Equal(parents, c.Parents) {
			t.Fatalf("links %v %v, the commit has %v %v: %v", tree, parents, c.Tree, c.Parents, err)
		}
		again, err := ParseCommit(FormatCommit(c))
		if err != nil || !bytes.Equal(FormatCommit(again), FormatCommit(c)) {
			t.Fatalf("%q: %v", FormatCommit(c), err)
		}
	})
}
