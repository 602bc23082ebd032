package plan_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/inference/plan"
)

// TestEmbeddingAsTheEngineHasIt: what is planned for a model that makes vectors is what
// the engine allocates for it.
func TestEmbeddingAsTheEngineHasIt(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	bert := func(pooling, width, inner, heads int) synth.Config {
		return synth.Config{Pooling: pooling, Embedding: width, FeedForward: inner, Heads: heads, Context: 2048}
	}
	for _, c := range []struct {
		write   func(io.Writer, synth.Config) error
		cfg     synth.Config
		pooling engine.Pooling
	}{
		{synth.BERT, bert(1, 128, 256, 4), "mean"}, {synth.BERT, bert(1, 128, 2048, 4), "mean"}, {synth.BERT, bert(2, 384, 1536, 12), "cls"},
		{synth.BERT, bert(4, 256, 256, 8), "rank"}, {synth.Llama, synth.Config{Pooling: 3}, "last"}, {synth.Llama, synth.Config{Pooling: 1, FeedForward: 1024}, "mean"},
	} {
		path := filepath.Join(t.TempDir(), "m.gguf")
		f, err := os.Create(path)
		if err == nil {
			err = errors.Join(c.write(f, c.cfg), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		model, loaded := read(t, path), enginetest.Load(t, path)
		for _, flash := range []engine.FlashAttention{engine.FlashOn, engine.FlashOff} {
			for _, size := range [][2]int{{512, 32}, {1024, 8}, {96, 1}} {
				name := fmt.Sprintf("%+v %s flash %s %v", c.cfg, c.pooling, flash, size)
				e := plan.Embedding{MaxInput: size[0], Tokens: size[0], Inputs: size[1], MicroBatch: 256, Pooling: string(c.pooling), Stepwise: c.pooling == "last"}
				p, err := plan.MakeEmbedding(plan.Input{Model: model, Wish: plan.Wish{NoFlash: flash == engine.FlashOff}}, e)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				ctx, err := loaded.NewEmbeddingContext(engine.EmbeddingOptions{Pooling: c.pooling, Tokens: size[0], Inputs: size[1], MicroBatch: 256, Threads: 1, FlashAttention: flash})
				if err != nil {
					t.Fatal(err)
				}
				b, err := ctx.Breakdown()
				if err := errors.Join(err, ctx.Close()); err != nil {
					t.Fatal(err)
				}
				var compute, cache uint64
				for _, x := range b.Buffers {
					compute, cache = compute+x.Compute, cache+x.Cache
				}
				a := &p.Devices[len(p.Devices)-1]
				if got := a.Bytes(plan.KV); got != cache {
					t.Errorf("%s: %d bytes of cells planned, the engine has %d", name, got, cache)
				}
				// The general formula is for larger models; of encoders it is exact.
				most := compute + 64
				if !model.Geometry.Encoder {
					most = compute + compute/4
				}
				if got := a.Bytes(plan.Compute); got < compute || got > most {
					t.Errorf("%s: %d bytes of scratch planned, the engine has %d", name, got, compute)
				}
			}
		}
	}
}

func TestEmbeddingThatDoesNotFit(t *testing.T) {
	w, err := synth.NewBERT(synth.Config{Context: 8192, Heads: 4, Sparse: true})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	m := read(t, path)
	none := uint64(0)
	in := plan.Input{Model: m, Devices: []plan.Device{{Name: "CPU", Kind: plan.CPU, Backend: "CPU", TotalBytes: 64 << 20, FreeBytes: 64 << 20}}, Wish: plan.Wish{Reserve: &none}}
	e := plan.Embedding{MaxInput: 8192, Tokens: 8192, Inputs: 32, Pooling: "mean"}
	_, err = plan.MakeEmbedding(in, e)
	var refused *plan.RefusedError
	if !errors.As(err, &refused) || len(refused.Nearest) != 1 || !refused.Nearest[0].Plan.Fits() || refused.Need <= refused.Free {
		t.Fatalf("%v", err)
	}
	less := e
	less.MaxInput = refused.Nearest[0].Plan.Context
	less.Tokens = refused.Nearest[0].Plan.Batch
	if p, err := plan.MakeEmbedding(in, less); err != nil || p.Devices[0].Bytes(plan.KV) != 0 {
		t.Errorf("the alternative is refused: %v", err)
	}
	for name, bad := range map[string]plan.Embedding{
		"nothing": {}, "an input that is too long": {MaxInput: 9000, Tokens: 9000, Inputs: 1}, "no whole share": {MaxInput: 10, Tokens: 100, Inputs: 3},
		"longer than the batch": {MaxInput: 100, Tokens: 10, Inputs: 1},
	} {
		if _, err := plan.MakeEmbedding(in, bad); err == nil || errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	card := plan.Device{Name: "CUDA0", Kind: plan.GPU, Backend: "CUDA", TotalBytes: 24 << 30, FreeBytes: 23 << 30}
	in.Devices[0].TotalBytes, in.Devices[0].FreeBytes = 32<<30, 30<<30
	in.Devices = append(in.Devices, card)
	p, err := plan.MakeEmbedding(in, e)
	if err != nil || p.Layers != p.All || p.Devices[0].Bytes(plan.Weights) == 0 || p.Cache != (plan.Cache{Keys: gguf.F16, Values: gguf.F16}) {
		t.Errorf("on a card: %+v, %v", p, err)
	}
}
