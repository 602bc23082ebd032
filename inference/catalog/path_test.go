package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dure/gguf"
	"dure/inference"
	"dure/inference/fetch"
)

func TestPullPath(t *testing.T) {
	data := model(t, 1)
	file, size := put(t, filepath.Join(t.TempDir(), "m.gguf"), data), int64(len(data))
	f := &fetch.Fetcher{Home: t.TempDir()}
	source := Source{Path: file}
	for _, e := range []Entry{{Source: source}, {Source: source, Bytes: size, Architecture: "llama"}, {Source: source, Bytes: size, SHA256: sum(data)}} {
		if got, err := Pull(ctx, f, e, Options{}); err != nil || got != file {
			t.Errorf("Pull(%+v) = %s, %v", e, got, err)
		}
		if got, ok := Local(f.Home, e); !ok || got != file {
			t.Errorf("Local(%+v) = %s, %v", e, got, ok)
		}
		if v, err := Verify(ctx, f, e); err != nil || len(v) != 1 {
			t.Errorf("Verify(%+v) = %v, %v", e, v, err)
		}
	}
	for says, e := range map[string]Entry{
		"the entry says 4":              {Source: source, Bytes: 4},
		"sha256:" + sumA:                {Source: source, SHA256: sumA},
		"put the file at " + file + "x": {Source: Source{Path: file + "x"}},
		"not a regular file":            {Source: Source{Path: filepath.Dir(file)}},
		`the entry says "qwen35"`:       {Source: source, Architecture: "qwen35"},
	} {
		if _, err := Pull(ctx, f, e, Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Pull(%+v) fails with %v, want %q", e, err, says)
		}
	}
}

// A file that is not whole is neither ready nor verified, wherever it lies and
// even if its hash is the entry's.
func TestFileThatIsNotWhole(t *testing.T) {
	data := model(t, 1)
	cut := data[:len(data)-100]
	file := put(t, filepath.Join(t.TempDir(), "cut.gguf"), cut)
	f := &fetch.Fetcher{Home: t.TempDir()}
	asked, err := new(Catalog).Resolve(file)
	if err != nil {
		t.Fatal(err)
	}
	manual := Entry{Name: "byhand", Source: Source{Manual: "make it"}}
	put(t, fileOf(f.Home, manual), cut)
	for _, e := range []Entry{asked, {Name: "p", Source: Source{Path: file}, SHA256: sum(cut)}, manual} {
		if _, err := Pull(ctx, f, e, Options{}); !errors.Is(err, gguf.ErrTruncated) {
			t.Errorf("Pull(%+v): %v", e, err)
		}
		if _, err := Verify(ctx, f, e); !errors.Is(err, gguf.ErrTruncated) {
			t.Errorf("Verify(%+v): %v", e, err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a user's own file was moved: %v", err)
	}
}

// Another architecture is no damage: the file stays where it is.
func TestVerifyArchitecture(t *testing.T) {
	data := model(t, 1)
	h := newFakeHub(t, map[string][]byte{"sub/m.gguf": data})
	f, e := fetcher(t), hubEntry()
	path, err := Pull(ctx, f, e, Options{Hub: h.URL})
	if err != nil {
		t.Fatal(err)
	}
	e.Architecture = "qwen35"
	var damaged *DamagedError
	if _, err := Verify(ctx, f, e); err == nil || errors.As(err, &damaged) || !strings.Contains(err.Error(), `its architecture is "llama"`) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// Nobody writes into the pipe: whoever opens it waits for ever.
func TestNamedPipeIsRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.gguf")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fetch.Fetcher{Home: t.TempDir()}
	e := Entry{Name: "p", Source: Source{Path: pipe}, SHA256: sumA}
	_, resolve := new(Catalog).Resolve(pipe)
	_, pull := Pull(ctx, f, e, Options{})
	for _, err := range []error{resolve, pull, verify(ctx, f, sumA, pipe)} {
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%v", err)
		}
	}
	if !errors.Is(resolve, inference.ErrModelNotFound) {
		t.Errorf("%v", resolve)
	}
	if _, err := Verify(ctx, f, e); !errors.Is(err, ErrNotHere) {
		t.Errorf("%v", err)
	}
}

func TestHowToGet(t *testing.T) {
	for says, e := range map[string]Entry{
		"convert it; then put it into DURE_HOME as models/v/v.gguf": {Name: "v", Source: Source{Manual: "convert it"}},
		"put the file at /m.gguf":                                   {Name: "v", Source: Source{Path: "/m.gguf"}},
		"another server, https://a.example/v1":                      {Name: "v", Source: Source{Endpoint: &Endpoint{URL: "https://a.example/v1"}}},
		"get it with `dure pull m`":                                 hubEntry(),
	} {
		if got := e.HowToGet(); !strings.Contains(got, says) {
			t.Errorf("%q, want %q in it", got, says)
		}
	}
}
