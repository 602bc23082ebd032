package gguf_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
)

func TestFingerprintTellsWeightsApart(t *testing.T) {
	sum := func(path string) []byte {
		t.Helper()
		m, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		s, err := m.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	write := func(seed uint64) string {
		t.Helper()
		var b bytes.Buffer
		if err := synth.Llama(&b, synth.Config{Seed: seed}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, again, b := write(1), write(1), write(2)
	if !bytes.Equal(sum(a), sum(again)) {
		t.Error("the same weights in two files differ")
	}
	if bytes.Equal(sum(a), sum(b)) {
		t.Error("other weights of the same shape do not differ")
	}
	if err := os.Truncate(a, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := gguf.Open(a); err == nil {
		t.Error("a file that is cut short opens")
	}
}
