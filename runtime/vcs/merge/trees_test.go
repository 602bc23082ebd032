package merge

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"testing"

	"dure/runtime/vcs/object"
)

var trees = flag.Int("trees", 400, "triples of trees to merge as git does")

// A file of a tree in these tests.
type file struct {
	mode object.Mode
	data string
}

type files map[string]file

// shop keeps trees in memory.
type shop map[object.ID][]byte

func (s shop) read(id object.ID) ([]byte, error) {
	data, ok := s[id]
	if !ok {
		return nil, fmt.Errorf("no tree %s", id)
	}
	return data, nil
}

// put builds the trees of a list of files.
func (s shop) put(f files) object.ID {
	below := map[string]files{}
	var entries []object.Entry
	for path, c := range f {
		dir, rest, deeper := strings.Cut(path, "/")
		if !deeper {
			entries = append(entries, object.Entry{Name: path, Mode: c.mode, ID: object.Hash(object.TypeBlob, []byte(c.data))})
			continue
		}
		if below[dir] == nil {
			below[dir] = files{}
		}
		below[dir][rest] = c
	}
	for dir, f := range below {
		entries = append(entries, object.Entry{Name: dir, Mode: object.ModeTree, ID: s.put(f)})
	}
	slices.SortFunc(entries, object.CompareEntries)
	data := object.FormatTree(entries)
	id := object.Hash(object.TypeTree, data)
	s[id] = data
	return id
}

// String is short: contents that are equal look equal.
func (f files) String() string {
	var b strings.Builder
	for _, p := range f.paths() {
		fmt.Fprintf(&b, " %s:%o:%s", p, f[p].mode&0o777, object.Hash(object.TypeBlob, []byte(f[p].data)).String()[:4])
	}
	return b.String()
}

func (f files) clone() files {
	out := files{}
	for p, c := range f {
		out[p] = c
	}
	return out
}

func (f files) paths() []string {
	var out []string
	for p := range f {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// free reports whether a file may stand at a path.
func (f files) free(path string) bool {
	for p := range f {
		if p == path || strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
			return false
		}
	}
	return true
}

func content(r *rand.Rand) string {
	var b strings.Builder
	name := r.IntN(1 << 30)
	for i := range 8 {
		fmt.Fprintf(&b, "%d of %d\n", i, name)
	}
	return b.String()
}

// change makes one change of the kind that agents and people make.
func (f files) change(r *rand.Rand) {
	places := []string{"a", "b", "x", "d/a", "d/b", "d/e/a", "d/e/b", "d/n", "f/a", "f/b", "f/n", "g/h/a"}
	paths := f.paths()
	if len(paths) == 0 || r.IntN(6) == 0 {
		if p := places[r.IntN(len(places))]; f.free(p) {
			f[p] = file{object.ModeFile, [...]string{content(r), "", "same for all\n"}[r.IntN(3)]}
		}
		return
	}
	p := paths[r.IntN(len(paths))]
	c := f[p]
	switch r.IntN(16) {
	case 0, 1:
		delete(f, p)
	case 2:
		if to := places[r.IntN(len(places))]; f.free(to) {
			delete(f, p)
			f[to] = c
		}
	case 3: // a folder moves
		if dir, _, ok := strings.Cut(p, "/"); ok && f.free("m") {
			for _, q := range paths {
				if rest, in := strings.CutPrefix(q, dir+"/"); in {
					f["m/"+rest] = f[q]
					delete(f, q)
				}
			}
		}
	case 4:
		if c.mode == object.ModeFile {
			f[p] = file{object.ModeExecutable, c.data}
		}
	case 5:
		f[p] = file{object.ModeLink, "a"}
	case 6: // a file becomes a folder
		delete(f, p)
		f[p+"/in"] = c
	default:
		lines := strings.SplitAfter(c.data, "\n")
		i := r.IntN(len(lines))
		lines[i] = fmt.Sprintf("changed %d\n", r.IntN(3))
		f[p] = file{c.mode, strings.Join(lines, "")}
	}
}

// verdict of a merge of trees.
type verdict struct {
	clean bool
	tree  object.ID
}

// mergeTrees carries the decisions out. hard says that git is to be asked; texts
// are what was merged by lines.
func mergeTrees(t *testing.T, s shop, base, ours, theirs files) (v verdict, hard bool, texts []triple) {
	t.Helper()
	delta, err := Changed(s.read, s.put(base), s.put(theirs), 1000)
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := Decide(s.read, delta, s.put(ours))
	if err != nil {
		t.Fatal(err)
	}
	blobs := map[object.ID]string{}
	for _, side := range []files{base, ours, theirs} {
		for _, c := range side {
			blobs[object.Hash(object.TypeBlob, []byte(c.data))] = c.data
		}
	}
	out, clean := ours.clone(), true
	for _, d := range decisions {
		switch d.Verdict {
		case Hard:
			return v, true, nil
		case Take:
			if delete(out, d.Path); d.Mode != 0 {
				out[d.Path] = file{d.Mode, blobs[d.New.ID]}
			}
		case Blend:
			tr := triple{"tree", []byte(blobs[d.Old.ID]), []byte(blobs[d.Ours.ID]), []byte(blobs[d.New.ID])}
			texts = append(texts, tr)
			m, err := Text(tr.base, tr.ours, tr.theirs, Fine, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			text, ok := m.Bytes()
			clean = clean && ok
			out[d.Path] = file{d.Mode, string(text)}
		}
	}
	return verdict{clean, s.put(out)}, false, texts
}

// repository writes triples as commits, three branches each, and asks git for the merges.
func gitTrees(t *testing.T, all [][3]files) []verdict {
	t.Helper()
	dir := t.TempDir()
	git := func(stdin []byte, args ...string) []byte {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("git %v: %s", args, exit.Stderr)
		}
		return out
	}
	var in, ask bytes.Buffer
	commit := func(branch, from string, f files) {
		fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter a <a@b> 1 +0000\ndata 0\n", branch)
		if from != "" {
			fmt.Fprintf(&in, "from refs/heads/%s\n", from)
		}
		in.WriteString("deleteall\n")
		for _, p := range f.paths() {
			fmt.Fprintf(&in, "M %o inline %s\ndata %d\n%s\n", f[p].mode, p, len(f[p].data), f[p].data)
		}
		in.WriteString("\n")
	}
	for i, tr := range all {
		b, o, th := fmt.Sprintf("b%d", i), fmt.Sprintf("o%d", i), fmt.Sprintf("t%d", i)
		commit(b, "", tr[0])
		commit(o, b, tr[1])
		commit(th, b, tr[2])
		fmt.Fprintf(&ask, "%s %s\n", o, th)
	}
	git(nil, "init", "-q", "--bare")
	git(in.Bytes(), "fast-import", "--quiet")
	out := git(ask.Bytes(), "merge-tree", "--write-tree", "--stdin", "--no-messages")
	var all2 []verdict
	for len(out) > 0 {
		part := bytes.SplitN(out, []byte{0}, 3)
		id, err := object.ParseID(string(part[1]))
		if err != nil {
			t.Fatal(err)
		}
		all2 = append(all2, verdict{string(part[0]) == "1", id})
		out = part[2]
		for out[0] != 0 { // conflicted files
			out = out[bytes.IndexByte(out, 0)+1:]
		}
		out = out[1:]
	}
	return all2
}

// Decisions over paths are git's, where they are not left to git: the same trees
// where it finds no conflict, and conflicts where it does.
func TestTreesMergeAsGitDoes(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("SKIPPED: no git here: %v", err)
	}
	s := shop{}
	all := make([][3]files, *trees)
	for i := range all {
		r := rand.New(rand.NewPCG(*seed, uint64(i)))
		base := files{}
		for range 3 + r.IntN(12) {
			base.change(r)
		}
		ours, theirs := base.clone(), base.clone()
		for range 1 + r.IntN(4) {
			ours.change(r)
		}
		for range 1 + r.IntN(4) {
			theirs.change(r)
		}
		all[i] = [3]files{base, ours, theirs}
	}
	want := gitTrees(t, all)
	if len(want) != len(all) {
		t.Fatalf("git answers %d of %d", len(want), len(all))
	}
	hards, conflicts, byLines := 0, 0, 0
	for i, tr := range all {
		got, hard, texts := mergeTrees(t, s, tr[0], tr[1], tr[2])
		switch {
		case hard:
			hards++
		case got.clean == want[i].clean && (!got.clean || got.tree == want[i].tree):
			if !got.clean {
				conflicts++
			}
		case otherLines(t, texts):
			byLines++
		default:
			t.Errorf("triple %d: clean %v, git says %v\nbase %v\nours %v\ntheirs %v", i, got.clean, want[i].clean, tr[0], tr[1], tr[2])
		}
	}
	t.Logf("%d triples: %d left to git, %d conflicts, %d clean, %d where git's two merges of lines differ",
		len(all), hards, conflicts, len(all)-hards-conflicts-byLines, byLines)
}

// otherLines reports whether git itself merges some of these texts otherwise in
// merge-file, which compares as this package does, than in merge-tree, which
// compares by rare lines: then the trees may differ. Our texts must be merge-file's.
func otherLines(t *testing.T, texts []triple) bool {
	t.Helper()
	dir := t.TempDir()
	for _, tr := range texts {
		how, err := differs(tr, dir)
		if err != nil || how != "" {
			t.Errorf("%q: %s %v", tr, how, err)
			return false
		}
	}
	return len(texts) > 0
}
