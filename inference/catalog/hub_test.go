package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/fetch"
)

const commit = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"

// fakeHub is a model hub with the repository org/repo, whose files lie on a
// second server.
type fakeHub struct {
	*httptest.Server
	mu     sync.Mutex
	files  map[string][]byte
	asked  []string // paths
	tokens []string
	served int64
	linked bool // it tells hashes
}

func newFakeHub(t *testing.T, files map[string][]byte) *fakeHub {
	t.Helper()
	h := &fakeHub{files: files, linked: true}
	store := httptest.NewServer(http.HandlerFunc(h.store))
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.hub(w, r, store.URL) }))
	t.Cleanup(h.Close)
	t.Cleanup(store.Close)
	return h
}

func (h *fakeHub) hub(w http.ResponseWriter, r *http.Request, store string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked, h.tokens = append(h.asked, r.URL.Path), append(h.tokens, r.Header.Get("Authorization"))
	_, file, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/org/repo/resolve/"), "/")
	data, there := h.files[file]
	if !ok || !there {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if h.linked {
		w.Header().Set("X-Linked-Etag", `"`+sum(data)+`"`)
	}
	w.Header().Set("X-Linked-Size", fmt.Sprint(len(data)))
	w.Header().Set("X-Repo-Commit", commit)
	http.Redirect(w, r, store+"/"+file, http.StatusFound)
}

func (h *fakeHub) store(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	data := h.files[strings.TrimPrefix(r.URL.Path, "/")]
	if r.Header.Get("Authorization") != "" {
		h.tokens = append(h.tokens, "leaked")
	}
	h.mu.Unlock()
	w.Header().Set("ETag", `"`+sum(data)[:8]+`"`)
	http.ServeContent(counting{w, h}, r, "", time.Time{}, bytes.NewReader(data))
}

type counting struct {
	http.ResponseWriter
	h *fakeHub
}

func (c counting) Write(p []byte) (int, error) {
	c.h.mu.Lock() // before the write: a test looks as soon as it has the bytes
	c.h.served += int64(len(p))
	c.h.mu.Unlock()
	return c.ResponseWriter.Write(p)
}

// bytes is how much the store has served.
func (h *fakeHub) bytes() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.served
}

func (h *fakeHub) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked, h.tokens, h.served = nil, nil, 0
}

// model is a GGUF file of a few MiB with a small header; another seed makes other
// weights.
func model(t *testing.T, seed uint64) []byte {
	t.Helper()
	c := synth.SmolShape()
	c.Seed, c.Layers, c.Embedding, c.Heads, c.KVHeads, c.FeedForward, c.Vocabulary = seed, 3, 128, 2, 1, 512, 300
	var b bytes.Buffer
	if err := synth.Llama(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func hubEntry() Entry {
	return Entry{Name: "m", Source: Source{HuggingFace: &HuggingFace{Repo: "org/repo", File: "sub/m.gguf"}}}
}

func fetcher(t *testing.T) *fetch.Fetcher {
	return &fetch.Fetcher{Home: t.TempDir(), Web: fetch.Web{Segment: 64 << 10, Attempts: 2, Stall: time.Minute}}
}

// A look at a header leaves nothing behind, not even a pin, and reads little.
func TestHeadersAreReadInPlace(t *testing.T) {
	data := model(t, 1)
	h := newFakeHub(t, map[string][]byte{"sub/m.gguf": data})
	for _, linked := range []bool{true, false} {
		h.reset()
		h.linked = linked
		f := fetcher(t)
		headers, err := Headers(ctx, f, hubEntry(), Options{Hub: h.URL})
		if err != nil || len(headers) != 1 {
			t.Fatalf("%d headers, %v", len(headers), err)
		}
		if g, err := headers[0].Geometry(); err != nil || len(g.Layers) != 3 {
			t.Errorf("%+v, %v", g, err)
		}
		if left, _ := os.ReadDir(f.Home); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if n := h.bytes(); n > headStep+1<<10 {
			t.Errorf("%d bytes were read", n)
		}
	}
	if _, err := Headers(ctx, fetcher(t), Entry{Name: "m", Source: Source{Path: "/m.gguf"}}, Options{}); !errors.Is(err, ErrNoHeaders) {
		t.Errorf("a path: %v", err)
	}
}

// The first pull pins what the hub has; only that is the model from then on.
func TestPullHubPins(t *testing.T) {
	first, second := model(t, 1), model(t, 2)
	h := newFakeHub(t, map[string][]byte{"sub/m.gguf": first})
	f, e, o := fetcher(t), hubEntry(), Options{Hub: h.URL + "/", Token: "hf_x"}
	path, err := Pull(ctx, f, e, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, first) || path != filepath.Join(f.Home, "models", "m", "m.gguf") {
		t.Errorf("%s holds %d bytes", path, len(got))
	}
	if h.asked[0] != "/org/repo/resolve/main/sub/m.gguf" || slices.ContainsFunc(h.asked[1:], func(p string) bool { return p != "/org/repo/resolve/"+commit+"/sub/m.gguf" }) {
		t.Errorf("asked for %v", h.asked)
	}
	if slices.ContainsFunc(h.tokens, func(s string) bool { return s != "Bearer hf_x" }) {
		t.Errorf("tokens went as %v", h.tokens)
	}
	if p, ok := readPin(f.Home, e); !ok || p.Commit != commit || p.Files[0] != (pinFile{"sub/m.gguf", int64(len(first)), sum(first)}) {
		t.Errorf("%+v, %v", p, ok)
	}
	for _, dir := range []string{"tmp", "downloads"} {
		if left, _ := os.ReadDir(filepath.Join(f.Home, dir)); len(left) > 0 {
			t.Errorf("left in %s: %v", dir, left)
		}
	}
	h.reset()
	if local, ok := Local(f.Home, e); !ok || local != path {
		t.Errorf("Local is %s, %v", local, ok)
	}
	if _, err := Pull(ctx, f, e, o); err != nil || len(h.asked) != 0 {
		t.Errorf("%v after %v", err, h.asked)
	}
	if r, err := Remove(ctx, f, "m"); err != nil || len(r.Files) != 2 || r.Bytes < int64(len(first)) || len(r.Kept) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	h.files["sub/m.gguf"] = second
	_, err = Pull(ctx, f, e, o)
	var pinned *PinError
	if !errors.As(err, &pinned) || !strings.Contains(err.Error(), "dure pull --repin m") || h.bytes() > 2 {
		t.Fatalf("%v after %d bytes", err, h.bytes())
	}
	o.Repin = true
	if path, err = Pull(ctx, f, e, o); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, second) {
		t.Error("not the new file")
	}
	other := e // another repository has nothing to do with the pin
	other.Source.HuggingFace = &HuggingFace{Repo: "org/other", File: "sub/m.gguf"}
	if _, ok := Local(f.Home, other); ok {
		t.Error("the file of one repository passed for that of another")
	}
}

func TestPullHubRefuses(t *testing.T) {
	data := model(t, 1)
	page := []byte("<!doctype html><html>" + strings.Repeat("x", 1000))
	h := newFakeHub(t, map[string][]byte{"sub/m.gguf": data, "page.gguf": page, "cut.gguf": data[:5000]})
	change := func(do func(e *Entry)) Entry { e := hubEntry(); do(&e); return e }
	at := func(file string) Entry {
		return change(func(e *Entry) { e.Source.HuggingFace.File = file })
	}
	for _, c := range []struct {
		name string
		e    Entry
		o    Options
		says string
	}{
		{"architecture", change(func(e *Entry) { e.Architecture = "qwen35" }), Options{}, `its architecture is "llama", the entry says "qwen35"`},
		{"check", hubEntry(), Options{Check: func(e Entry, g *gguf.File) error { return fmt.Errorf("%s has %d tensors", e.Name, len(g.Tensors)) }}, "refused by its header"},
		{"page", at("page.gguf"), Options{}, "not a GGUF file"},
		{"cut", at("cut.gguf"), Options{}, "refused by its header"},
		{"missing", at("none.gguf"), Options{}, "check repository, revision and file name"},
		{"other hash", change(func(e *Entry) { e.SHA256 = sumA }), Options{}, "is not the pinned file"},
		{"other size", change(func(e *Entry) { e.SHA256, e.Bytes = sum(data), 5 }), Options{}, "the pinned file has 5"},
		{"budget", hubEntry(), Options{Budget: 1000}, "the budget is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fetcher(t)
			h.reset()
			c.o.Hub = h.URL
			path, err := Pull(ctx, f, c.e, c.o)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%s, %v", path, err)
			}
			if h.bytes() > headStep+1 {
				t.Errorf("%d bytes were fetched before", h.bytes())
			}
			if left, _ := os.ReadDir(filepath.Join(f.Home, "downloads")); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
	h.linked = false
	if _, err := Pull(ctx, fetcher(t), hubEntry(), Options{Hub: h.URL}); err == nil || !strings.Contains(err.Error(), "add sha256") {
		t.Errorf("a hub without hashes: %v", err)
	}
	f := fetcher(t) // with the hash in the entry it serves
	e := change(func(e *Entry) { e.SHA256, e.Bytes, e.Architecture = sum(data), int64(len(data)), "llama" })
	if _, err := Pull(ctx, f, e, Options{Hub: h.URL}); err != nil {
		t.Error(err)
	}
	if _, ok := readPin(f.Home, e); ok {
		t.Error("a pinned entry was pinned")
	}
}

func TestPullShards(t *testing.T) {
	c := synth.SmolShape()
	c.Layers, c.Embedding, c.Heads, c.KVHeads, c.FeedForward = 2, 64, 2, 1, 64
	w, err := synth.NewLlama(c)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := w.WriteShards(filepath.Join(t.TempDir(), "m"), 8)
	if err != nil || len(paths) != 3 {
		t.Fatalf("%v, %v", paths, err)
	}
	files := map[string][]byte{}
	for _, p := range paths {
		if files["q/"+filepath.Base(p)], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	h := newFakeHub(t, files)
	f := fetcher(t)
	var last fetch.Progress
	f.Progress = func(p fetch.Progress) {
		if p.Step == "download" {
			if p.Done < last.Done || p.Name != "m" {
				t.Errorf("%+v after %+v", p, last)
			}
			last = p
		}
	}
	e := hubEntry()
	e.Source.HuggingFace.File = "q/" + filepath.Base(paths[0])
	first, err := Pull(ctx, f, e, Options{Hub: h.URL})
	if err != nil {
		t.Fatal(err)
	}
	m, err := gguf.Open(first)
	if err != nil || len(m.Files) != 3 {
		t.Fatalf("%v", err)
	}
	m.Close()
	if last.Done != last.Total || last.Total < int64(len(files["q/"+filepath.Base(paths[0])])) {
		t.Errorf("%+v", last)
	}
	second := filepath.Join(filepath.Dir(first), filepath.Base(paths[1]))
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	if _, ok := Local(f.Home, e); ok {
		t.Error("a set with a hole passed")
	}
	h.reset()
	last = fetch.Progress{}
	f.Progress = nil
	if _, err := Pull(ctx, f, e, Options{Hub: h.URL}); err != nil {
		t.Fatal(err)
	}
	if n, got := int64(len(files["q/"+filepath.Base(paths[1])])), h.bytes(); got < n || got > n+3+int64(len(files["q/"+filepath.Base(paths[0])])) {
		t.Errorf("served %d bytes for a missing shard of %d", got, n)
	}
	v, err := Verify(ctx, f, e)
	if err != nil || len(v) != 3 {
		t.Errorf("%v, %v", v, err)
	}
}

func TestPullURL(t *testing.T) {
	data := model(t, 3)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the hub's token went to another server")
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	defer s.Close()
	f := fetcher(t)
	e := Entry{Name: "u", Source: Source{URL: s.URL + "/some%20file?x=1"}, SHA256: sum(data), Bytes: int64(len(data))}
	path, err := Pull(ctx, f, e, Options{Token: "hf_x"})
	if err != nil || filepath.Base(path) != "u.gguf" {
		t.Fatalf("%s, %v", path, err)
	}
	if _, err := Pull(ctx, f, Entry{Name: "r", Source: Source{Endpoint: &Endpoint{}}}, Options{}); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Error(err)
	}
}

func TestPullManual(t *testing.T) {
	f := fetcher(t)
	data := model(t, 4)
	for _, sha := range []string{"", sum(data)} {
		e := Entry{Name: "v" + sha[:min(len(sha), 3)], Source: Source{Manual: "convert it"}, SHA256: sha}
		_, err := Pull(ctx, f, e, Options{})
		if err == nil || !strings.Contains(err.Error(), "convert it; then put it here as "+fileOf(f.Home, e)) {
			t.Errorf("%v", err)
		}
		if err := os.MkdirAll(folder(f.Home, e.Name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fileOf(f.Home, e), data, 0o644); err != nil {
			t.Fatal(err)
		}
		path, err := Pull(ctx, f, e, Options{})
		if local, ok := Local(f.Home, e); err != nil || !ok || local != path {
			t.Errorf("%s, %v, %v", path, ok, err)
		}
	}
}
