package bundle_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/inference/bundle"
	"dure/inference/fetch"
)

// shelf puts an archive where fetched ones lie, and makes the bundle of it.
func shelf(t *testing.T, home string, files map[string]string) bundle.Bundle {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"pkg/a.bin", "pkg/model/x.txt", "pkg/model/deep/y.txt", "pkg/other.py"} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	a := fetch.Artifact{Client: fetch.PIP, Package: "pkg", Version: "1", File: "pkg-1-py3-none-any.whl", Bytes: int64(b.Len()),
		Hash: fetch.MustParseHash("sha256:" + hex.EncodeToString(sum[:]))}
	if err := os.MkdirAll(filepath.Join(home, "downloads"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "downloads", a.File), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, name := range []string{"pkg/a.bin", "pkg/model/x.txt", "pkg/model/deep/y.txt"} {
		n += int64(len(files[name]))
	}
	return bundle.Bundle{Name: "set", Folder: "voice", Parts: []bundle.Part{{Artifact: a, Bytes: n,
		Files: map[string]string{"pkg/a.bin": "lib/a.bin", "pkg/model/": "model/"}}}}
}

var contents = map[string]string{"pkg/a.bin": "library", "pkg/model/x.txt": "x", "pkg/model/deep/y.txt": "deep", "pkg/other.py": "code"}

func TestInstall(t *testing.T) {
	home := t.TempDir()
	b := shelf(t, home, contents)
	if _, err := b.Open(home); !errors.Is(err, bundle.ErrNotInstalled) {
		t.Fatalf("before: %v", err)
	}
	root, err := b.Install(t.Context(), bundle.Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"lib/a.bin": "library", "model/x.txt": "x", "model/deep/y.txt": "deep"} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "other.py")); err == nil {
		t.Error("a file that nobody wanted was taken")
	}
	if err := b.Verify(t.Context(), home); err != nil {
		t.Error(err)
	}
	if again, err := b.Install(t.Context(), bundle.Options{Home: home}); err != nil || again != root {
		t.Errorf("the second time: %s, %v", again, err)
	}
	// Of other pins it is not opened.
	other := b
	other.Parts = []bundle.Part{b.Parts[0]}
	other.Parts[0].Artifact.Version = "2"
	var broken *bundle.BrokenError
	if _, err := other.Open(home); !errors.As(err, &broken) || !strings.Contains(err.Error(), "pkg==2") {
		t.Errorf("of other pins: %v", err)
	}
	// Damaged without a change of size it opens, and Verify finds it.
	if err := os.WriteFile(filepath.Join(root, "lib/a.bin"), []byte("LIBRARY"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(home); err != nil {
		t.Error(err)
	}
	if err := b.Verify(t.Context(), home); !errors.As(err, &broken) {
		t.Errorf("a damaged file: %v", err)
	}
	// Cut short it does not, and the next install makes it whole.
	if err := os.Truncate(filepath.Join(root, "model/x.txt"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(home); !errors.As(err, &broken) {
		t.Errorf("a file cut short: %v", err)
	}
	shelf(t, home, contents)
	if _, err := b.Install(t.Context(), bundle.Options{Home: home}); err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(t.Context(), home); err != nil {
		t.Error(err)
	}
}

// An archive with other contents than pinned leaves nothing behind.
func TestInstallRefuses(t *testing.T) {
	home := t.TempDir()
	b := shelf(t, home, contents)
	for change, bytes := range map[string]int64{"more": -1, "less": 1} {
		c := b
		c.Parts = []bundle.Part{b.Parts[0]}
		c.Parts[0].Bytes += bytes
		if _, err := c.Install(t.Context(), bundle.Options{Home: home}); err == nil {
			t.Errorf("%s than pinned was installed", change)
		}
		if _, err := os.Stat(b.Root(home)); err == nil {
			t.Errorf("%s than pinned: a folder was left", change)
		}
	}
}
