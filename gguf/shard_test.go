package gguf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shards writes five tensors as three shards and returns their paths.
func shards(t *testing.T) []string {
	t.Helper()
	var w Writer
	w.Set(KeyArchitecture, "llama")
	w.Set(KeyAlignment, uint32(64))
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		w.Tensor(name, F32, []uint64{4}, constant(16, byte(i)))
	}
	paths, err := w.WriteShards(filepath.Join(t.TempDir(), "model"), 2)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestShards(t *testing.T) {
	paths := shards(t)
	if want := []string{"model-00001-of-00003.gguf", "model-00002-of-00003.gguf", "model-00003-of-00003.gguf"}; len(paths) != 3 ||
		filepath.Base(paths[0]) != want[0] || filepath.Base(paths[1]) != want[1] || filepath.Base(paths[2]) != want[2] {
		t.Fatalf("paths %q", paths)
	}
	for _, path := range paths { // any of them opens the model
		m, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		var in []string
		for f, x := range m.Tensors() {
			names = append(names, x.Name)
			in = append(in, f.Path)
			if x.Offset%64 != 0 {
				t.Errorf("%s at %d", x.Name, x.Offset)
			}
		}
		if d := cmp.Diff([]string{"a", "b", "c", "d", "e"}, names); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{paths[0], paths[0], paths[1], paths[1], paths[2]}, in); d != "" {
			t.Error(d)
		}
		if arch, _ := m.Metadata().textOr(KeyArchitecture, ""); arch != "llama" || m.Path() != paths[0] {
			t.Errorf("architecture %q, path %s", arch, m.Path())
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestShardRefusals(t *testing.T) {
	rewrite := func(path string, build func(w *Writer)) error {
		return os.WriteFile(path, bytesOf(t, build), 0o600)
	}
	split := func(w *Writer, no, count uint16, tensors int32, names ...string) {
		w.Set(KeySplitNo, no)
		w.Set(KeySplitCount, count)
		w.Set(KeySplitTensors, tensors)
		for _, n := range names {
			w.Tensor(n, F32, []uint64{4}, nil)
		}
	}
	for _, tc := range []struct {
		name   string
		change func(paths []string) error
		kind   error
		text   string
	}{
		{"missing shard", func(p []string) error { return os.Remove(p[1]) }, ErrShards, `missing ["`},
		{"renamed", func(p []string) error { return os.Rename(p[0], strings.Replace(p[0], "00001", "0001", 1)) }, os.ErrNotExist, ""},
		{"swapped", func(p []string) error { return os.Rename(p[2], p[1]) }, ErrShards, "missing"},
		{"wrong number", func(p []string) error {
			return rewrite(p[1], func(w *Writer) { split(w, 2, 3, 5, "c", "d") })
		}, ErrShards, "says shard 3 of 3"},
		{"wrong count", func(p []string) error {
			return rewrite(p[1], func(w *Writer) { split(w, 1, 4, 5, "c", "d") })
		}, ErrShards, "says shard 2 of 4"},
		{"not a shard", func(p []string) error {
			return rewrite(p[1], func(w *Writer) { w.Tensor("c", F32, []uint64{4}, nil) })
		}, ErrShards, "says shard 1 of 1"},
		{"tensor twice", func(p []string) error {
			return rewrite(p[1], func(w *Writer) { split(w, 1, 3, 5, "a", "d") })
		}, ErrShards, `tensor "a" is in`},
		{"tensor missing", func(p []string) error {
			return rewrite(p[1], func(w *Writer) { split(w, 1, 3, 5, "c") })
		}, ErrShards, "4 tensors, split.tensors.count says 5"},
		{"damaged shard", func(p []string) error { return os.WriteFile(p[1], []byte("GG"), 0o600) }, ErrTruncated, "00002"},
		{"number past the count", func(p []string) error {
			return rewrite(p[0], func(w *Writer) { split(w, 3, 3, 5, "a") })
		}, ErrShards, "split.no is 3"},
		{"count of another type", func(p []string) error {
			return rewrite(p[0], func(w *Writer) { w.Set(KeySplitCount, "3") })
		}, ErrType, KeySplitCount},
	} {
		t.Run(tc.name, func(t *testing.T) {
			paths := shards(t)
			if err := tc.change(paths); err != nil {
				t.Fatal(err)
			}
			m, err := Open(paths[0])
			if m != nil || !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, want %v with %q", err, tc.kind, tc.text)
			}
		})
	}
	t.Run("name without number", func(t *testing.T) {
		paths := shards(t)
		path := filepath.Join(filepath.Dir(paths[0]), "x.gguf")
		if err := os.Rename(paths[1], path); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrShards) || !strings.Contains(err.Error(), `"-00002-of-00003.gguf"`) {
			t.Errorf("error %v", err)
		}
	})
}

func TestWriteShardsRefusals(t *testing.T) {
	var w Writer
	if _, err := w.WriteShards("x", 0); err == nil {
		t.Error("no tensor per shard")
	}
	w.Set("", 0)
	if _, err := w.WriteShards("x", 1); err == nil {
		t.Error("an earlier error is lost")
	}
}

func TestSplitShardPath(t *testing.T) {
	for path, want := range map[string]struct {
		prefix    string
		no, count int
		ok        bool
	}{
		"a/b-00002-of-00010.gguf":  {"a/b", 1, 10, true},
		"-00001-of-00001.gguf":     {"", 0, 1, true},
		"a-00001-of-00002.gguf.gz": {},
		"a-00000-of-00002.gguf":    {},
		"a-00003-of-00002.gguf":    {},
		"a-1-of-2.gguf":            {},
		"a.gguf":                   {},
	} {
		prefix, no, count, ok := SplitShardPath(path)
		if prefix != want.prefix || no != want.no || count != want.count || ok != want.ok {
			t.Errorf("%s: %q %d %d %v", path, prefix, no, count, ok)
		}
		if ok && ShardPath(prefix, no, count) != path {
			t.Errorf("%s: rebuilt as %s", path, ShardPath(prefix, no, count))
		}
	}
}
