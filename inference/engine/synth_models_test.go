package engine_test

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
)

// TestSyntheticModels: the engine loads and decodes every synthetic model that
// makes text, and its own figures agree with the geometry of the header:
// parameters, bytes, vocabulary, context, and the size of a sequence's state,
// which is what the memory plan and the cache rest on.
func TestSyntheticModels(t *testing.T) {
	for name, tc := range map[string]struct {
		write func(io.Writer, synth.Config) error
		cfg   synth.Config
	}{
		"llama":           {synth.Llama, synth.Config{}},
		"llama q4_k_m":    {synth.Llama, synth.Config{Weights: gguf.Q4K, MoreBits: true, Embedding: 256}},
		"qwen35":          {synth.Qwen35, synth.Config{}},
		"qwen35 q8_0":     {synth.Qwen35, synth.Config{Weights: gguf.Q8_0}},
		"qwen35 with MTP": {synth.Qwen35, synth.Config{MTP: 1}},
		"gemma3":          {synth.Gemma3, synth.Config{}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.gguf")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.write(f, tc.cfg); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			checkSynthetic(t, path)
		})
	}
}

func checkSynthetic(t *testing.T, path string) {
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g, err := file.Geometry()
	if err != nil {
		t.Fatal(err)
	}
	m := enginetest.Load(t, path)
	facts := m.Facts()
	if facts.Parameters != g.Parameters || facts.Bytes != g.Bytes || facts.Vocabulary != g.Vocabulary || facts.TrainContext != g.TrainContext {
		t.Errorf("engine %+v, header: %d parameters, %d bytes, vocabulary %d, context %d", facts, g.Parameters, g.Bytes, g.Vocabulary, g.TrainContext)
	}
	const text = "Hello the world, 안녕하세요 \U0001f600\r\n\t 123"
	tokens, err := m.Tokenize(t.Context(), text, false, false)
	if err != nil {
		t.Fatal(err)
	}
	var back []byte
	for _, tok := range tokens {
		back = append(back, m.Vocabulary().Piece(tok, true)...)
	}
	if string(back) != text {
		t.Errorf("tokens give %q", back)
	}
	c := newContext(t, m, engine.ContextOptions{Cells: 512, Sequences: 1, Batch: 64, MicroBatch: 64, Outputs: 1, Threads: 2})
	logits := prompt(t, c, 0, tokens)
	var sum, squares float64
	for _, l := range logits {
		sum += float64(l)
		squares += float64(l) * float64(l)
	}
	n := float64(len(logits))
	if spread := math.Sqrt(squares/n - sum/n*sum/n); !(spread > 1 && spread < 10) {
		t.Errorf("logits spread by %v", spread)
	}
	checkState(t, c, g, tokens)
}

// checkState compares the state of one sequence at two lengths: what it grows
// by a token is the keys and values and the cell's own few bytes, and what does
// not grow is the recurrent state and headers.
func checkState(t *testing.T, c *engine.Context, g *gguf.Geometry, tokens []engine.Token) {
	t.Helper()
	size := func() int {
		b, err := c.State(nil, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}
	short := size()
	const more = 16
	for i := range more {
		if err := decode(t, c, row{tokens[0], len(tokens) + i, 0, true}); err != nil {
			t.Fatal(err)
		}
	}
	kv, err := g.KV(gguf.F16, gguf.F16)
	if err != nil {
		t.Fatal(err)
	}
	const cell = 32 // bytes of bookkeeping for a cell, at most, in each of up to two pools
	grown := (size() - short) / more
	if grown < int(kv.Total()) || grown > int(kv.Total())+2*cell {
		t.Errorf("a token adds %d bytes, header says %d", grown, kv.Total())
	}
	fixed := short - len(tokens)*grown
	if fixed < int(g.State()) || fixed > int(g.State())+1024 {
		t.Errorf("fixed state of %d bytes, header says %d", fixed, g.State())
	}
}
