package llm_test

import (
	"log/slog"
	"strings"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/inference/llm"
)

// Costs that were measured before reach the scheduler, which refuses what cannot be;
// with good ones a model answers as without.
func TestCostsReachTheScheduler(t *testing.T) {
	cfg := llm.Config{Name: "test", Context: 512, Sequences: 2, Queue: 2, Threads: 1, FlashAttention: engine.FlashOff}
	cfg.Costs.Steps = []llm.StepCost{{Rows: 0, Took: 1}}
	if _, err := llm.New(enginetest.Load(t, enginetest.Llama(t, synth.Config{})), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "seed the scheduler") {
		t.Errorf("a step of no rows: %v", err)
	}
	costs := llm.Costs{Steps: []llm.StepCost{{Rows: 1, Took: 5e6}}, Chunks: []llm.ChunkCost{{Tokens: 64, Took: 50e6}, {From: 64, Tokens: 16, Took: 9e6}}}
	seeded := mustCollect(t, tiny(t, func(c *llm.Config) { c.Costs = costs }), ask("a", "hello", 8))
	if plain := mustCollect(t, tiny(t, nil), ask("a", "hello", 8)); seeded.text != plain.text || seeded.finish != plain.finish {
		t.Errorf("%q with costs, %q without", seeded.text, plain.text)
	}
}
