package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dure/inference"

	"pgregory.net/rapid"
)

func decode(t *testing.T, s string) *Catalog {
	t.Helper()
	c, err := Decode("m", []byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const mine = `default: three
models:
  - {name: three, source: {path: /three.gguf}, licence: MIT, roles: [lead]}
  - {name: one, source: {path: /my/one.gguf}, licence: mine, roles: [lead]}
`

func TestMerge(t *testing.T) {
	base := decode(t, good)
	c, err := Merge(base, decode(t, mine))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Names(), []string{"one", "two", "three"}) || c.DefaultName != "three" || c.Entries[0].Source.Path != "/my/one.gguf" {
		t.Errorf("merged is %+v", c)
	}
	if base.Entries[0].Source.PyPI == nil || base.DefaultName != "one" {
		t.Error("Merge changed its argument")
	}
	if c, err = Merge(base, nil); err != nil || c.DefaultName != "one" {
		t.Errorf("without a second catalog: %+v, %v", c, err)
	}
	_, err = Merge(base, decode(t, "# mine\ndefault: tow\n"))
	var e *FileError
	if !errors.As(err, &e) || e.Line != 2 || !strings.Contains(e.Message, `no model "tow" (did you mean "two"?); there are one, two`) {
		t.Errorf("error is %v", err)
	}
}

func TestOpen(t *testing.T) {
	home := t.TempDir()
	if c, err := Open(home, []byte(good)); err != nil || len(c.Entries) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := os.WriteFile(UserFile(home), []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := Open(home, []byte(good)); err != nil || len(c.Entries) != 3 || c.DefaultName != "three" {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := os.WriteFile(UserFile(home), []byte("models:\n  - nmae: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(home, []byte(good)); err == nil || !strings.HasPrefix(err.Error(), UserFile(home)+":2:") {
		t.Fatalf("error is %v", err)
	}
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.gguf")
	if err := os.WriteFile(file, []byte("GGUF and more"), 0o644); err != nil {
		t.Fatal(err)
	}
	html := filepath.Join(dir, "page.gguf")
	if err := os.WriteFile(html, []byte("<html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	c := decode(t, good)
	for _, name := range []string{file, "./mine.gguf", "mine.gguf"} {
		e, err := c.Resolve(name)
		if err != nil || e.Name != "mine" || e.Source.Path != file {
			t.Errorf("Resolve(%q) = %+v, %v", name, e, err)
		}
	}
	if e, err := c.Resolve(""); err != nil || e.Name != "one" {
		t.Errorf("the default is %+v, %v", e, err)
	}
	for name, says := range map[string]string{
		"onne":          `there is no model "onne" (did you mean "one"?); there are one, two`,
		"zzzzzzzzz":     `there is no model "zzzzzzzzz"; there are one, two`,
		"missing.gguf":  "no such file",
		"onne.gguf":     `no such file or directory (did you mean "one"?)`,
		"page.gguf":     "not a GGUF file",
		dir + "/":       "not a GGUF file",
		"/no/such/file": "no such file",
	} {
		_, err := c.Resolve(name)
		if !errors.Is(err, inference.ErrModelNotFound) || !strings.Contains(err.Error(), says) {
			t.Errorf("Resolve(%q) fails with %v, want %q", name, err, says)
		}
	}
	empty := decode(t, "models: []\n")
	if _, err := empty.Resolve(""); !errors.Is(err, inference.ErrModelNotFound) {
		t.Errorf("without a default: %v", err)
	}
}

// The distance is a metric, and changing one byte costs one.
func TestEditDistanceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab, ba, bc, ac := editDistance(a, b), editDistance(b, a), editDistance(b, c), editDistance(a, c)
		if ab != ba || ac > ab+bc || (ab == 0) != (a == b) || ab > max(len(a), len(b)) || ab < max(len(a)-len(b), len(b)-len(a)) {
			t.Fatalf("%q %q %q: %d %d %d %d", a, b, c, ab, ba, bc, ac)
		}
		if a != "" && editDistance(a, "x"+a[1:]) != 1 {
			t.Fatalf("one byte of %q costs %d", a, editDistance(a, "x"+a[1:]))
		}
	})
}

// What is no regular file could hang or fill the memory.
func TestLoadRefusesWhatIsNoOrdinaryFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "models.yaml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxFile+1); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, big, "/dev/zero", t.TempDir()} {
		if _, err := Load(path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}
