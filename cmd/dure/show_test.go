package main

import (
	"path/filepath"
	"strings"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
)

// The figures of Qwen3.8-27B, from a file of its shape whose data is a hole.
func TestShowTellsTheGeometryOfThe27B(t *testing.T) {
	w, err := synth.NewQwen35(synth.Qwen27B(gguf.Q4K, 1))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "shape.gguf")
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	out, err := dureCommand(t, "show", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"64, of which 16 hold keys and values, 48 are recurrent; 1 more", "64 KiB a token, 16.0 GiB for 262144",
		"34 KiB a token", "18 KiB a token", "149.62 MiB a sequence", "qwen35", "Q4_K_M"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	out, err = dureCommand(t, "show", path, "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"train_context":262144`, `"kv_layers":16`, `"f16":65536`, `"state_bytes_per_sequence":156893184`, `"type":"Q4_K"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is missing in %s", want, out)
		}
	}
}
