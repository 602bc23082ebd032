package engine_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
)

// YaRN reaches the graph of plain and of hybrid models: stretched once it is the
// model itself, stretched further it answers a short prompt otherwise.
func TestYarnChangesShortPrompts(t *testing.T) {
	hybrid := filepath.Join(t.TempDir(), "qwen35.gguf")
	w, err := synth.NewQwen35(synth.Config{})
	if err == nil {
		err = w.WriteFile(hybrid)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"llama": enginetest.Llama(t, synth.Config{}), "qwen35": hybrid} {
		t.Run(name, func(t *testing.T) {
			m := enginetest.Load(t, path)
			trained := m.Facts().TrainContext
			ask := func(y engine.Yarn) []float32 {
				opt := engine.ContextOptions{Cells: 512, Sequences: 1, Batch: 64, MicroBatch: 64, Outputs: 1, Threads: 1, FlashAttention: engine.FlashOff, Yarn: y}
				return prompt(t, newContext(t, m, opt), 0, []engine.Token{5, 9, 12, 7, 3, 5, 9, 12, 8, 30, 2, 11})
			}
			plain := ask(engine.Yarn{})
			if d := maxDiff(plain, ask(engine.Yarn{Factor: 1, Original: trained})); d != 0 {
				t.Errorf("stretched once: logits differ by %g", d)
			}
			if d := maxDiff(plain, ask(engine.Yarn{Factor: 4, Original: trained})); d == 0 {
				t.Error("stretched four times: the same logits")
			}
		})
	}
}

func TestYarnIsChecked(t *testing.T) {
	m := enginetest.Load(t, enginetest.Llama(t, synth.Config{}))
	for _, y := range []engine.Yarn{{Factor: 2}, {Original: 512}, {Factor: -1, Original: 512}, {Factor: 65, Original: 512}} {
		_, err := m.NewContext(engine.ContextOptions{Cells: 512, Sequences: 1, Batch: 64, MicroBatch: 64, Outputs: 1, Threads: 1, Yarn: y})
		if err == nil || !strings.Contains(err.Error(), "YaRN") {
			t.Errorf("%+v: %v", y, err)
		}
	}
}

// Layers with a window hold all tokens unless told otherwise, as is the engine's
// own default.
func TestShortWindowTakesFewerCells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gemma3.gguf")
	w, err := synth.NewGemma3(synth.Config{Layers: 6, Context: 4096})
	if err == nil {
		err = w.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	m := enginetest.Load(t, path)
	cache := func(short bool) (n uint64) {
		opt := engine.ContextOptions{Cells: 4096, Sequences: 1, Batch: 64, MicroBatch: 64, Outputs: 1, Threads: 1, FlashAttention: engine.FlashOff, ShortWindow: short}
		b, err := newContext(t, m, opt).Breakdown()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range b.Buffers {
			n += x.Cache
		}
		return n
	}
	if full, short := cache(false), cache(true); short >= full/2 {
		t.Errorf("%d bytes with the window alone, %d with all tokens", short, full)
	}
}

var pciRE = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]`)

// Addresses are told for devices on a bus only: the CPU has none.
func TestDeviceAddresses(t *testing.T) {
	for _, d := range enginetest.Library(t).Devices() {
		if d.Kind == "cpu" && d.PCI != "" || d.PCI != "" && !pciRE.MatchString(d.PCI) {
			t.Errorf("%+v", d)
		}
	}
}
