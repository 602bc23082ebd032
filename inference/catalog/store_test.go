package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dure/inference/fetch"
)

func put(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// stores are the folders of all three programs with the same model in each.
func stores(t *testing.T, data []byte) []Store {
	t.Helper()
	dir := t.TempDir()
	ollama, lm, hub := filepath.Join(dir, "ollama"), filepath.Join(dir, "lm"), filepath.Join(dir, "hub")
	put(t, filepath.Join(ollama, "blobs", "sha256-"+sum(data)), data)
	manifest, err := json.Marshal(map[string]any{"layers": []map[string]any{
		{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + sumA, "size": 1},
		{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + sum(data), "size": len(data)}}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(ollama, "manifests", "host.example", "library", "m", "1b"), manifest)
	put(t, filepath.Join(ollama, "manifests", "host.example", "library", "broken", "latest"), []byte("{"))
	put(t, filepath.Join(ollama, "manifests", "host.example", "own", "gone", "latest"), []byte(strings.ReplaceAll(string(manifest), sum(data), sumB)))
	put(t, filepath.Join(lm, "org", "repo", "sub", "m.gguf"), data)
	put(t, filepath.Join(lm, "org", "repo", "mmproj-m.gguf"), data)
	blob := put(t, filepath.Join(hub, "models--org--repo", "blobs", sum(data)), data)
	link := filepath.Join(hub, "models--org--repo", "snapshots", commit, "sub", "m.gguf")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(blob, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(blob+"gone", filepath.Join(filepath.Dir(link), "gone.gguf")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(hub, "datasets--org--repo", "snapshots", commit, "x.gguf"), data)
	return []Store{{Ollama, ollama}, {LMStudio, lm}, {HubCache, hub}, {LMStudio, filepath.Join(dir, "none")}}
}

func TestFind(t *testing.T) {
	data := model(t, 1)
	s := stores(t, data)
	found, err := Find(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintf("%s %s %s %s %d %v", f.Program, f.Name, f.Repo, f.File, f.Bytes-int64(len(data)), f.SHA256 == sum(data)))
	}
	want := []string{"ollama m:1b   0 true", "lmstudio org/repo/sub/m.gguf org/repo sub/m.gguf 0 false", "huggingface org/repo/sub/m.gguf org/repo sub/m.gguf 0 true"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if _, err := Find([]Store{{"other", s[0].Dir}}); err == nil {
		t.Error("an unknown program was searched")
	}
}

// snapshot is every name, size, mode and time below the stores.
func snapshot(t *testing.T, all []Store) string {
	t.Helper()
	var b strings.Builder
	for _, s := range all {
		err := filepath.WalkDir(s.Dir, func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			info, err := d.Info()
			if err == nil {
				fmt.Fprintln(&b, p, info.Size(), info.Mode(), info.ModTime())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// What another program has is used there, whatever the source says, and stays as
// it is.
func TestUsedInPlace(t *testing.T) {
	data := model(t, 1)
	h := newFakeHub(t, map[string][]byte{"sub/m.gguf": data})
	pinned := hubEntry()
	pinned.SHA256, pinned.Bytes = sum(data), int64(len(data))
	for i, program := range []Program{Ollama, LMStudio, HubCache} {
		for name, e := range map[string]Entry{"pinned": pinned, "not pinned": hubEntry(), "url": {Name: "m", SHA256: sum(data), Bytes: int64(len(data)), Source: Source{URL: h.URL}}} {
			if name == "url" && program == LMStudio {
				continue // it names no hash, and the entry no repository
			}
			t.Run(string(program)+" "+name, func(t *testing.T) {
				s := stores(t, data)
				before := snapshot(t, s)
				h.reset()
				f := fetcher(t)
				path, err := Pull(ctx, f, e, Options{Hub: h.URL, Stores: s[i : i+1]})
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(path, s[i].Dir) || Owned(f.Home, path) || h.bytes() > 1 || name == "pinned" && len(h.asked) > 0 {
					t.Errorf("%s after %d bytes and %v", path, h.bytes(), h.asked)
				}
				if local, ok := Local(f.Home, e); !ok || local != path {
					t.Errorf("Local is %s, %v", local, ok)
				}
				if v, err := Verify(ctx, f, e); err != nil || v[0].Path != path {
					t.Errorf("%v, %v", v, err)
				}
				r, err := Remove(ctx, f, "m")
				if err != nil || len(r.Files) != 1 {
					t.Errorf("%+v, %v", r, err)
				}
				if _, ok := Local(f.Home, e); ok {
					t.Error("still there after the removal")
				}
				if after := snapshot(t, s); after != before {
					t.Errorf("changed from\n%s\nto\n%s", before, after)
				}
			})
		}
	}
}

// Another program's file that changes is no longer taken; one that is not what
// its name says never is.
func TestInPlaceIsNotTrusted(t *testing.T) {
	data, other := model(t, 1), model(t, 2)
	h := newFakeHub(t, map[string][]byte{"sub/m.gguf": data})
	s := stores(t, data)[:1]
	blob := filepath.Join(s[0].Dir, "blobs", "sha256-"+sum(data))
	f, e := fetcher(t), hubEntry()
	o := Options{Hub: h.URL, Stores: s}
	if _, err := Pull(ctx, f, e, o); err != nil {
		t.Fatal(err)
	}
	put(t, blob, other) // of the same size, under the same name
	if path, ok := Local(f.Home, e); ok {
		t.Errorf("%s passed", path)
	}
	path, err := Pull(ctx, f, e, o)
	if err != nil || !Owned(f.Home, path) {
		t.Errorf("%s, %v", path, err)
	}
	if got, _ := os.ReadFile(blob); sum(got) != sum(other) {
		t.Error("the other program's file was changed")
	}
}

func TestVerifyDamaged(t *testing.T) {
	data := model(t, 1)
	h := newFakeHub(t, map[string][]byte{"sub/m.gguf": data})
	f, e := fetcher(t), hubEntry()
	if _, err := Verify(ctx, f, e); !errors.Is(err, ErrNotHere) {
		t.Errorf("%v", err)
	}
	path, err := Pull(ctx, f, e, Options{Hub: h.URL})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(ctx, f, e); err != nil || len(v) != 1 || v[0] != (Verified{path, sum(data)}) {
		t.Errorf("%v, %v", v, err)
	}
	bad := slices.Clone(data)
	bad[len(bad)-1] ^= 1
	put(t, path, bad)
	_, err = Verify(ctx, f, e)
	var damaged *DamagedError
	if !errors.As(err, &damaged) || damaged.Aside != path+".damaged" || !strings.Contains(err.Error(), "dure pull m") {
		t.Fatalf("%v", err)
	}
	if got, _ := os.ReadFile(damaged.Aside); sum(got) != sum(bad) {
		t.Error("the damaged file is not aside")
	}
	if _, ok := Local(f.Home, e); ok {
		t.Error("a damaged model passed")
	}
	left, err := Leftovers(f, &Catalog{Entries: []Entry{e}})
	if err != nil || len(left) != 1 || left[0].Path != damaged.Aside {
		t.Errorf("%+v, %v", left, err)
	}
	mine := put(t, filepath.Join(t.TempDir(), "m.gguf"), bad[:100])
	own := Entry{Name: "own", Source: Source{Path: mine}}
	_, err = Verify(ctx, f, own)
	if !errors.As(err, &damaged) || damaged.Aside != "" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	put(t, mine, data)
	if v, err := Verify(ctx, f, own); err != nil || v[0] != (Verified{mine, ""}) {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := Verify(ctx, f, Entry{Source: Source{Endpoint: &Endpoint{}}}); !errors.Is(err, ErrRemote) {
		t.Errorf("%v", err)
	}
}

// Only what dure made is listed and removed, and nothing that is being worked on.
func TestLeftovers(t *testing.T) {
	f := fetcher(t)
	at := func(parts ...string) string { return filepath.Join(append([]string{f.Home}, parts...)...) }
	c := &Catalog{Entries: []Entry{{Name: "known"}}}
	gone := []string{at("downloads", "m+m.gguf.part"), at("downloads", "m+m.gguf.part.json"), at("downloads", "a.whl"), at("tmp", "model-x~1"),
		at("models", "old", "old.gguf"), at("models", "old", "old.gguf.sha256"), at("models", "known", "k.gguf.damaged")}
	kept := []string{at("downloads", "busy+m.gguf.part"), at("downloads", "letter.txt"), at("tmp", "notes"), at("models", "old", "mine.gguf"),
		at("models", "known", "k.gguf"), at("models", "known", "k.gguf.sha256"), at("models.yaml"), at("models", "mine.gguf")}
	for _, p := range append(slices.Clone(gone), kept...) {
		put(t, p, make([]byte, 5000))
	}
	unlock, err := (&fetch.Fetcher{Home: f.Home}).Lock(ctx, "download-busy+m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	left, err := Leftovers(f, c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range left {
		if got = append(got, l.Path); l.Bytes < 5000 || l.Why == "" {
			t.Errorf("%+v", l)
		}
	}
	slices.Sort(got)
	slices.Sort(gone)
	if !slices.Equal(got, gone) {
		t.Errorf("listed %q, want %q", got, gone)
	}
	for _, l := range left {
		if err := Drop(f, l); err != nil {
			t.Error(err)
		}
	}
	if err := Drop(f, Leftover{Path: at("models.yaml")}); err == nil {
		t.Error("what was not listed was removed")
	}
	unlock()
	for _, p := range kept {
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
	if left, err = Leftovers(f, c); err != nil || len(left) != 1 || left[0].Path != kept[0] {
		t.Errorf("%+v, %v", left, err)
	}
	r, err := Remove(ctx, f, "old")
	if err != nil || len(r.Kept) != 1 || r.Kept[0] != at("models", "old", "mine.gguf") {
		t.Errorf("%+v, %v", r, err)
	}
	for _, name := range []string{"", "..", "a/b", "../x"} {
		if _, err := Remove(ctx, f, name); err == nil {
			t.Errorf("removed %q", name)
		}
	}
}
