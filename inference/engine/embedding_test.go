package engine_test

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
)

func newEmbedding(t testing.TB, m *engine.Model, opt engine.EmbeddingOptions) *engine.EmbeddingContext {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	opt.Threads = 1
	e, err := m.NewEmbeddingContext(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// someInputs are n inputs of random tokens, up to so many each.
func someInputs(seed uint64, n, longest int) [][]engine.Token {
	r := rand.New(rand.NewPCG(seed, 7))
	all := make([][]engine.Token, n)
	for i := range all {
		all[i] = make([]engine.Token, 1+r.IntN(longest))
		for k := range all[i] {
			all[i][k] = engine.Token(r.IntN(synth.BaseVocabulary))
		}
	}
	return all
}

func embed(t testing.TB, e *engine.EmbeddingContext, inputs ...[]engine.Token) [][]float32 {
	t.Helper()
	v, err := e.Embed(inputs)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// cosine of the angle between two vectors; 0 where their lengths differ by more than
// the engine's arithmetic explains (its GELU is a table of halves).
func cosine[A, B float32 | float64](a []A, b []B) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot, aa, bb = dot+float64(a[i])*float64(b[i]), aa+float64(a[i])*float64(a[i]), bb+float64(b[i])*float64(b[i])
	}
	if math.Abs(math.Log(aa/bb)) > 2e-3 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// TestEmbeddingsOfBERT: the engine's vectors, of several inputs at once, are those of
// the model as it is written down, for each kind of pooling.
func TestEmbeddingsOfBERT(t *testing.T) {
	for pooling, number := range map[engine.Pooling]int{engine.PoolingMean: 1, engine.PoolingCLS: 2, engine.PoolingLast: 3, engine.PoolingRank: 4} {
		t.Run(string(pooling), func(t *testing.T) {
			cfg := synth.Config{Pooling: number}
			if pooling == engine.PoolingRank {
				cfg.Classes = []string{"no", "yes"}
			}
			path := writeModel(t, synth.BERT, cfg)
			m := enginetest.Load(t, path)
			if p, err := m.Pooling(); err != nil || p != pooling {
				t.Fatalf("pooling %q, %v", p, err)
			}
			ref := bert{readWeights(t, path), 2, 128, 4}
			e := newEmbedding(t, m, engine.EmbeddingOptions{Pooling: pooling, Tokens: 300, Inputs: 8})
			inputs := someInputs(1, 8, 37)
			for i, got := range embed(t, e, inputs...) {
				rows := ref.hidden(inputs[i])
				want := map[engine.Pooling]func() []float64{
					engine.PoolingMean: func() []float64 { return meanOf(rows) },
					engine.PoolingCLS:  func() []float64 { return rows[0] },
					engine.PoolingLast: func() []float64 { return rows[len(rows)-1] },
					engine.PoolingRank: func() []float64 { return ref.scores(rows[0]) },
				}[pooling]()
				if len(got) != len(want) {
					t.Fatalf("%d numbers, want %d", len(got), len(want))
				}
				if c := cosine(got, want); !(c > 0.9999) {
					t.Errorf("input %d of %d tokens: cosine %v", i, len(inputs[i]), c)
				}
			}
		})
	}
}

// TestEmbeddingsAlone: an input's vector does not depend on what is computed with it,
// nor on what was before, also where the model keeps a cache or a recurrent state.
func TestEmbeddingsAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		write   func(io.Writer, synth.Config) error
		pooling engine.Pooling
		number  int
	}{
		"bert mean":   {synth.BERT, engine.PoolingMean, 1},
		"llama last":  {synth.Llama, engine.PoolingLast, 3},
		"llama mean":  {synth.Llama, engine.PoolingMean, 1},
		"qwen35 last": {synth.Qwen35, engine.PoolingLast, 3},
		"gemma3 last": {synth.Gemma3, engine.PoolingLast, 3},
	} {
		t.Run(name, func(t *testing.T) {
			m := enginetest.Load(t, writeModel(t, tc.write, synth.Config{Pooling: tc.number}))
			e := newEmbedding(t, m, engine.EmbeddingOptions{Pooling: tc.pooling, Tokens: 256, Inputs: 6, MicroBatch: 32, FlashAttention: engine.FlashOff})
			inputs := someInputs(2, 6, 40)
			together := embed(t, e, inputs...)
			for i, in := range inputs {
				if c := cosine(embed(t, e, in)[0], together[i]); !(c > 0.99999) {
					t.Errorf("input %d of %d tokens: cosine %v", i, len(in), c)
				}
			}
			if c := cosine(together[0], together[1]); c > 0.99 {
				t.Errorf("different inputs have the same vector: cosine %v", c)
			}
		})
	}
}

// TestEmbeddingMakesLogits: the last token's vector is what the output matrix makes
// the logits of, however the input was read.
func TestEmbeddingMakesLogits(t *testing.T) {
	path := writeModel(t, synth.Llama, synth.Config{Pooling: 3})
	m := enginetest.Load(t, path)
	in := someInputs(3, 1, 200)[0]
	c := newContext(t, m, engine.ContextOptions{Cells: 256, Sequences: 1, Batch: 256, MicroBatch: 256, Outputs: 1, Threads: 1, FlashAttention: engine.FlashOff})
	want := prompt(t, c, 0, in)
	e := newEmbedding(t, m, engine.EmbeddingOptions{Pooling: engine.PoolingLast, Tokens: 256, Inputs: 2, MicroBatch: 16, FlashAttention: engine.FlashOff})
	v := embed(t, e, in)[0]
	matrix := readWeights(t, path)["output.weight"]
	got := make([]float64, len(want))
	for o := range got {
		for k, x := range v {
			got[o] += float64(x) * float64(matrix[o*len(v)+k])
		}
	}
	if c := cosine(got, want); !(c > 0.9999) {
		t.Errorf("cosine %v", c)
	}
}

func TestEmbeddingRefusals(t *testing.T) {
	m := enginetest.Load(t, writeModel(t, synth.BERT, synth.Config{Context: 64}))
	for name, opt := range map[string]engine.EmbeddingOptions{
		"no pooling":   {Tokens: 8, Inputs: 1, Threads: 1},
		"no tokens":    {Pooling: engine.PoolingMean, Inputs: 1, Threads: 1},
		"too many":     {Pooling: engine.PoolingMean, Tokens: 1 << 30, Inputs: 1, Threads: 1},
		"no inputs":    {Pooling: engine.PoolingMean, Tokens: 8, Threads: 1},
		"no threads":   {Pooling: engine.PoolingMean, Tokens: 8, Inputs: 1},
		"many inputs":  {Pooling: engine.PoolingMean, Tokens: 1024, Inputs: 257, Threads: 1},
		"no such kind": {Pooling: "sum", Tokens: 8, Inputs: 1, Threads: 1},
	} {
		if e, err := m.NewEmbeddingContext(opt); !errors.Is(err, engine.ErrLoad) {
			e.Close()
			t.Errorf("%s: %v", name, err)
		}
	}
	e := newEmbedding(t, m, engine.EmbeddingOptions{Pooling: engine.PoolingMean, Tokens: 100, Inputs: 3})
	if e.MaxInput() != 64 {
		t.Errorf("longest input %d, want the 64 that the model was trained for", e.MaxInput())
	}
	long := make([]engine.Token, 65)
	for name, inputs := range map[string][][]engine.Token{
		"none":                {},
		"an empty one":        {{1}, {}},
		"longer than trained": {long},
		"together too long":   {long[:60], long[:60]},
		"too many":            {{1}, {1}, {1}, {1}},
		"no such token":       {{1, synth.BaseVocabulary}},
		"a negative token":    {{-1}},
	} {
		if _, err := e.Embed(inputs); !errors.Is(err, engine.ErrBatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v := embed(t, e, long[:64]); math.Abs(cosine(v[0], v[0])-1) > 1e-9 {
		t.Error("the context is of no use after refusals")
	}
}
