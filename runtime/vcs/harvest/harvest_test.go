package harvest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"dure/runtime/sandbox"
	"dure/runtime/vcs"
	"dure/runtime/vcs/checkout"
	"dure/runtime/vcs/harvest"
	"dure/runtime/vcs/object"
)

func newRepository(t *testing.T, dir string) *vcs.Repository {
	t.Helper()
	r, err := vcs.Init(t.Context(), filepath.Join(dir, "r.git"), "refs/heads/main", vcs.Options{})
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

// keep makes a tree durable.
func keep(t *testing.T, r *vcs.Repository, d *vcs.Draft, tree object.ID) {
	t.Helper()
	who := r.Signature(vcs.Owner())
	id, err := d.PutCommit(t.Context(), object.Commit{Tree: tree, Author: who, Committer: who, Message: "m"})
	if err != nil {
		t.Fatal(err)
	}
	ref := "refs/heads/" + tree.String()
	if _, ok := r.Ref(ref); ok {
		return
	}
	if err := r.Apply(t.Context(), vcs.Owner(), d, vcs.Move{Ref: ref, New: id}); err != nil {
		t.Fatal(err)
	}
}

// files are all files and links of a tree: mode and content.
func files(t *testing.T, r vcs.Reader, tree object.ID, at string, to map[string]string) {
	t.Helper()
	data, err := r.Tree(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := object.ParseTree(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Mode == object.ModeTree {
			files(t, r, e.ID, at+e.Name+"/", to)
			continue
		}
		blob, err := r.Blob(t.Context(), e.ID)
		if err != nil {
			t.Fatal(err)
		}
		to[at+e.Name] = fmt.Sprintf("%v %s", e.Mode, blob)
	}
}

// list prints what list reads back: of each file or link its mode and content.
const list = `find . \( -type f -o -type l \) -print | while read -r p; do
if [ -L "$p" ]; then m=120000; c=$(readlink "$p"); elif [ -x "$p" ]; then m=100755; c=$(cat "$p"); else m=100644; c=$(cat "$p"); fi
echo "${p#./}|$m $c"; done`

func run(t *testing.T, b *sandbox.Box, script string) string {
	t.Helper()
	var out bytes.Buffer
	r, err := b.Run(t.Context(), sandbox.Cmd{Args: []string{"sh", "-c", script}, Stdout: &out, Stderr: &out})
	if err != nil || r.Code != 0 {
		t.Fatalf("%s: %v %+v\n%s", script, err, r, out.String())
	}
	return out.String()
}

// change is one thing that an agent may do to a path.
func change(r *rand.Rand) string {
	names := []string{"a", "b", "d", "d/e", "d/f", "d/g/h", "k/l", "m"}
	p := names[r.IntN(len(names))]
	make := fmt.Sprintf("mkdir -p $(dirname %s) 2>/dev/null; ", p)
	switch r.IntN(7) {
	case 0:
		return fmt.Sprintf("rm -rf %s", p)
	case 1:
		return make + fmt.Sprintf("[ -d %s ] || echo %d > %s || true", p, r.IntN(100), p)
	case 2:
		return fmt.Sprintf("[ ! -f %s ] || chmod +x %s", p, p)
	case 3:
		return make + fmt.Sprintf("rm -rf %s; ln -s /etc/passwd %s || true", p, p)
	case 4:
		return fmt.Sprintf("rm -rf %s; mkdir -p %s && echo in > %s/new || true", p, p, p)
	case 5:
		return make + fmt.Sprintf("rm -rf %s; echo file > %s || true", p, p)
	}
	return fmt.Sprintf("mv %s %s 2>/dev/null || true", p, names[r.IntN(len(names))]+"2")
}

// What is read is what the box shows, whatever was done in it, over several harvests.
func TestHarvestIsWhatTheBoxShows(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("copy %v", plain), func(t *testing.T) {
			dir, err := os.MkdirTemp("", "harvest-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			host, err := sandbox.Open(t.Context(), sandbox.Options{Dir: dir, NoOverlay: plain, Log: slog.New(slog.DiscardHandler)})
			if errors.Is(err, sandbox.ErrRefused) {
				t.Skipf("SKIPPED: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			trees, err := checkout.Open(filepath.Join(dir, "trees"), checkout.Options{})
			if err != nil {
				t.Fatal(err)
			}
			repo := newRepository(t, dir)
			random := rand.New(rand.NewPCG(1, 2))
			for round := range 8 {
				try(t, repo, host, trees, filepath.Join(dir, fmt.Sprint("box", round)), random)
			}
		})
	}
}

func try(t *testing.T, repo *vcs.Repository, host *sandbox.Host, trees *checkout.Cache, dir string, random *rand.Rand) {
	d := repo.Draft()
	base, err := d.Splice(t.Context(), object.Zero, []vcs.Change{
		{Path: "a", Mode: object.ModeFile, Data: []byte("a\n")}, {Path: "b", Mode: object.ModeLink, Data: []byte("a")},
		{Path: "d/e", Mode: object.ModeFile, Data: []byte("e\n")}, {Path: "d/g/h", Mode: object.ModeExecutable, Data: []byte("h\n")},
		{Path: "k/l", Mode: object.ModeFile, Data: []byte("l\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	keep(t, repo, d, base)
	tree, err := trees.Get(t.Context(), repo, base)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Release()
	b, err := host.Start(t.Context(), sandbox.Spec{Name: filepath.Base(dir), Dir: dir, Lower: tree.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var script []string
	for range 4 {
		for range 1 + random.IntN(5) {
			script = append(script, change(random))
		}
		run(t, b, strings.Join(script, "\n"))
		want := map[string]string{}
		for line := range strings.Lines(run(t, b, list)) {
			p, content, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
			want[p] = content
		}
		upper, whole := b.Changes()
		draft := repo.Draft()
		h, err := harvest.Read(t.Context(), draft, base, harvest.Folder{Dir: upper, Whole: whole}, harvest.Options{})
		if err != nil {
			t.Fatalf("%v after\n%s", err, strings.Join(script, "\n"))
		}
		raw, got := map[string]string{}, map[string]string{}
		files(t, draft, h.Tree, "", raw)
		for p, content := range raw {
			got[p] = strings.TrimSuffix(content, "\n")
		}
		if !maps.Equal(got, want) || len(h.LeftOut) > 0 {
			t.Fatalf("after\n%s\nthe box shows\n%v\nand the harvest is\n%v %v", strings.Join(script, "\n"), want, got, h.LeftOut)
		}
		script = script[:0]
	}
}

// A folder that an agent filled with the worst leads to nothing outside of it.
func TestHostileFolder(t *testing.T) {
	dir := t.TempDir()
	upper := filepath.Join(dir, "upper")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(upper, "sub", ".git", "hooks"), 0o700),
		os.WriteFile(filepath.Join(upper, "sub", ".git", "hooks", "pre-commit"), []byte("x"), 0o700),
		os.Symlink("/etc", filepath.Join(upper, "etc")), os.Symlink("../../..", filepath.Join(upper, "up")),
		unix.Mkfifo(filepath.Join(upper, "pipe"), 0o600), os.Mkdir(filepath.Join(upper, "Git~1"), 0o700), os.WriteFile(filepath.Join(upper, "Git~1", "config"), nil, 0o600),
		os.WriteFile(filepath.Join(upper, "good"), []byte("good\n"), 0o600),
		os.WriteFile(filepath.Join(upper, "debug.log"), []byte("log\n"), 0o600),
		os.WriteFile(filepath.Join(upper, ".stage"), []byte("half"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := newRepository(t, dir)
	d := r.Draft()
	base, err := d.Splice(t.Context(), object.Zero, []vcs.Change{{Path: "debug.log", Mode: object.ModeFile, Data: []byte("old\n")}})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	h, err := harvest.Read(t.Context(), d, base, harvest.Folder{Dir: upper}, harvest.Options{Leave: []string{".stage"},
		Ignored: func(_ context.Context, paths []string) (map[string]bool, error) {
			asked = slices.Sorted(slices.Values(paths))
			return map[string]bool{"debug.log": true, "up": true}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	files(t, d, h.Tree, "", got)
	want := map[string]string{"etc": "120000 /etc", "good": "100644 good\n", "debug.log": "100644 log\n"}
	if !maps.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
	if !slices.Equal(asked, []string{"etc", "good", "up"}) {
		t.Errorf("asked whether %v are ignored", asked)
	}
	if len(h.LeftOut) != 3 || !slices.Equal(h.Paths, []string{"debug.log", "etc", "good"}) {
		t.Errorf("left out %v, changed %v", h.LeftOut, h.Paths)
	}
	for name, limits := range map[string]vcs.Limits{"paths": {Paths: 2}, "blob": {Blob: 3}, "commit": {Commit: 7}} {
		if _, err := harvest.Read(t.Context(), r.Draft(), object.Zero, harvest.Folder{Dir: upper}, harvest.Options{Limits: limits}); !errors.Is(err, harvest.ErrTooMuch) {
			t.Errorf("limit of %s: %v", name, err)
		}
	}
}
