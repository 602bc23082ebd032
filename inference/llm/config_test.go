package llm_test

import (
	"testing"

	"dure/inference/engine"
	"dure/inference/llm"
)

func TestDerive(t *testing.T) {
	f := engine.Facts{TrainContext: 8192, Layers: 30, Heads: 9, HeadsKV: 3, Embedding: 576} // SmolLM2-135M
	const perToken = 30 * 3 * 64 * 4
	if got := llm.KVBytesPerToken(f); got != perToken {
		t.Fatalf("%d bytes a token, want %d", got, perToken)
	}
	for name, tc := range map[string]struct {
		cfg                llm.Config
		free               uint64
		context, sequences int // 0, 0 = refused
	}{
		"plenty":              {llm.Config{}, 8 << 30, 8192, 8},
		"room for two":        {llm.Config{}, perToken * 8192 * 2, 8192, 2},
		"room for half a one": {llm.Config{}, perToken * 4096, 4096, 1},
		"asked and fits":      {llm.Config{Context: 1000, Sequences: 3}, 8 << 30, 1000, 3},
		"asked, too much":     {llm.Config{Context: 8192, Sequences: 8}, 1 << 30, 0, 0},
		"over the training":   {llm.Config{Context: 9000}, 8 << 30, 0, 0},
		"stretched":           {llm.Config{Context: 16384, Sequences: 1, Yarn: engine.Yarn{Factor: 2, Original: 8192}}, 8 << 30, 16384, 1},
		"over the stretched":  {llm.Config{Context: 16385, Yarn: engine.Yarn{Factor: 2, Original: 8192}}, 8 << 30, 0, 0},
		"nothing free":        {llm.Config{}, 1000, 0, 0},
	} {
		got, notes, err := llm.Derive(tc.cfg, f, tc.free)
		if tc.context == 0 {
			if err == nil {
				t.Errorf("%s: accepted as %d x %d", name, got.Sequences, got.Context)
			}
			continue
		}
		if err != nil || got.Context != tc.context || got.Sequences != tc.sequences || len(notes) == 0 {
			t.Errorf("%s: %d x %d, %v, notes %v; want %d x %d", name, got.Sequences, got.Context, err, notes, tc.sequences, tc.context)
		}
	}
}
