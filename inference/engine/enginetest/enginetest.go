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
	"sync"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
)

// Dir is the folder of the shared libraries under test.
func Dir(t testing.TB) string {
	t.Helper()
	return os.Getenv("DURE_ENGINE_DIR")
}

// Library opens the shared libraries under test.
func Library(t testing.TB) *engine.Library {
	t.Helper()
	lib, err := engine.Open(Dir(t), slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// Llama writes the tiny synthetic llama of this configuration and returns its
// path. The file is made once per process.
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

var demo struct {
	sync.Mutex
	path string
}

// DemoModel is the path of the real demo model.
func DemoModel(t testing.TB) string {
	t.Helper()
	return os.Getenv("DURE_DEMO_MODEL")
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
