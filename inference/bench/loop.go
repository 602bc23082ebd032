package bench

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"dure/inference"
	"dure/inference/engine"
	"dure/inference/sample"
)

// LoopOptions of the bare engine loop. The shape is llama-bench's.
type LoopOptions struct {
	EngineDir, ModelPath string
	GPULayers            int
	Threads, Poll        int
	Prompt, Generate     int // tokens
	Repetitions          int
}

// LoopResult is in tokens a second, one value per repetition.
type LoopResult struct {
	Prefill []float64 `json:"prefill"`
	// Decode feeds fixed tokens and draws none, as llama-bench does; Greedy
	// takes the likeliest token each step.
	Decode []float64 `json:"decode"`
	Greedy []float64 `json:"greedy"`
}

// Loop runs the engine without scheduler, process boundary or HTTP.
func Loop(ctx context.Context, opt LoopOptions) (res LoopResult, err error) {
	err = WithModel(ctx, opt.EngineDir, opt.ModelPath, opt.GPULayers, func(model *engine.Model) (err error) {
		res, err = runLoop(ctx, model, opt)
		return err
	})
	return res, err
}

// WithModel loads a model into this process for as long as it is used, on a thread
// of its own.
func WithModel(ctx context.Context, engineDir, path string, gpuLayers int, use func(*engine.Model) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lib, err := engine.Open(engineDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	model, err := lib.LoadModel(ctx, engine.LoadOptions{Path: path, GPULayers: gpuLayers})
	if err != nil {
		return err
	}
	defer model.Close()
	return use(model)
}

func runLoop(ctx context.Context, model *engine.Model, opt LoopOptions) (res LoopResult, err error) {
	l := &loop{vocabulary: model.Facts().Vocabulary}
	size := max(opt.Prompt, opt.Generate)
	l.ctx, err = model.NewContext(engine.ContextOptions{
		Cells: size, Sequences: 1, Batch: max(512, opt.Prompt), MicroBatch: 512, Outputs: 1,
		Threads: opt.Threads, Poll: opt.Poll,
	})
	if err != nil {
		return res, err
	}
	defer l.ctx.Close()
	l.batch = l.ctx.NewBatch()
	defer l.batch.Close()
	if _, err := l.prefill(opt.Prompt); err != nil { // warm-up
		return res, err
	}
	for range opt.Repetitions {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		if err := measure(&res.Prefill, func() (float64, error) { return l.prefill(opt.Prompt) }); err != nil {
			return res, err
		}
		if err := measure(&res.Decode, func() (float64, error) { return l.decode(opt.Generate, nil) }); err != nil {
			return res, err
		}
		greedy, err := sample.New(inference.Params{TopP: 1}, model.Vocabulary())
		if err != nil {
			return res, err
		}
		if err := measure(&res.Greedy, func() (float64, error) { return l.decode(opt.Generate, greedy) }); err != nil {
			return res, err
		}
	}
	return res, nil
}

func measure(to *[]float64, f func() (float64, error)) error {
	v, err := f()
	if err == nil {
		*to = append(*to, v)
	}
	return err
}

type loop struct {
	ctx        *engine.Context
	batch      *engine.Batch
	vocabulary int
}

// token is some fixed token for a position.
func (l *loop) token(i int) engine.Token { return engine.Token((i*7919 + 17) % l.vocabulary) }

func (l *loop) clear() error { return l.ctx.Remove(0, engine.All, engine.All) }

// read computes n tokens of a sequence from a position on, all of them with logits
// or none.
func (l *loop) read(seq, at, n int, outputs bool) error {
	l.batch.Reset()
	for i := range n {
		if err := l.batch.Add(l.token(at+i), at+i, seq, outputs); err != nil {
			return err
		}
	}
	return l.ctx.Decode(l.batch)
}

// prefill reads n tokens and returns tokens a second.
func (l *loop) prefill(n int) (float64, error) {
	if err := l.clear(); err != nil {
		return 0, err
	}
	begin := time.Now()
	l.batch.Reset()
	for i := range n {
		if err := l.batch.Add(l.token(i), i, 0, i == n-1); err != nil {
			return 0, err
		}
	}
	if err := l.ctx.Decode(l.batch); err != nil {
		return 0, err
	}
	if _, err := l.ctx.Logits(n - 1); err != nil { // waits for the result
		return 0, err
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

// decode computes n tokens one by one and returns tokens a second.
func (l *loop) decode(n int, sampler *sample.Sampler) (float64, error) {
	if err := l.clear(); err != nil {
		return 0, err
	}
	begin := time.Now()
	next := l.token(0)
	for i := range n {
		l.batch.Reset()
		if err := l.batch.Add(next, i, 0, true); err != nil {
			return 0, err
		}
		if err := l.ctx.Decode(l.batch); err != nil {
			return 0, fmt.Errorf("token %d: %w", i, err)
		}
		logits, err := l.ctx.Logits(0)
		if err != nil {
			return 0, err
		}
		if next = l.token(i + 1); sampler != nil {
			if next, err = sampler.Sample(logits); err != nil {
				return 0, err
			}
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}
