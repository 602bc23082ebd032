// Package enginetest finds what tests of the engine and of everything above it
// need: the installed shared libraries, the real demo model, and tiny synthetic
// models. Only tests import it.
//
// What is missing fails the test and names the fix: a suite that skipped
// because nothing was installed would prove nothing.
package enginetest

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"dure/gguf/synth"
	"dure/inference/catalog"
	"dure/inference/engine"
	"dure/inference/library"
)

// Home is the folder with engine and models: DURE_HOME, or ~/.dure.
func Home(t testing.TB) string {
	t.Helper()
	if home := os.Getenv("DURE_HOME"); home != "" {
		return home
	}
	user, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(user, ".dure")
}

// Dir is the folder of the shared libraries under test: DURE_ENGINE_DIR, or the
// installed CPU variant.
func Dir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("DURE_ENGINE_DIR"); dir != "" {
		return dir
	}
	set, err := library.Open(Home(t), library.CPU)
	if err != nil {
		t.Fatalf("the engine is not installed: %v; run `make test`, which installs it", err)
	}
	return set.Lib()
}

// Library opens the shared libraries under test.
func Library(t testing.TB) *engine.Library {
	t.Helper()
	lib, err := engine.Open(Dir(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// Llama writes the tiny synthetic llama of this configuration and returns its
// path.
func Llama(t testing.TB, cfg synth.Config) string {
	t.Helper()
	var buf bytes.Buffer
	if err := synth.Llama(&buf, cfg); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "synth.gguf")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// DemoModel is the path of the real demo model, the catalogue's default.
func DemoModel(t testing.TB) string {
	t.Helper()
	return RealModel(t, "")
}

// RealModel is the path of a model of the catalogue.
func RealModel(t testing.TB, name string) string {
	t.Helper()
	cat, err := catalog.Load(filepath.Join(moduleRoot(t), "models.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := cat.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	path, ok := catalog.Local(Home(t), entry)
	if !ok {
		t.Fatalf("model %s is not on this machine; run `make test`, which pulls it", entry.Name)
	}
	return path
}

// moduleRoot is the folder of go.mod: tests run in their package's folder.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// Load loads a model file and closes it with the test.
func Load(t testing.TB, path string) *engine.Model {
	t.Helper()
	m, err := Library(t).LoadModel(t.Context(), engine.LoadOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}
