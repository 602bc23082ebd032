package pool

import (
	"context"
	"iter"

	"dure/inference"
)

// handle is a model by name: it finds the runner anew for each request.
type handle struct {
	pool *Pool
	name string
	info inference.Info
}

func (h *handle) Info() inference.Info { return h.info }

// Generate implements inference.Model over whichever runner is alive.
func (h *handle) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		const tries = 2
		for try := 1; ; try++ {
			r, err := h.pool.acquire(ctx, h.name)
			if err != nil {
				yield(inference.Event{}, err)
				return
			}
			if !h.attempt(ctx, r, req, yield, try < tries) {
				return
			}
		}
	}
}

// attempt streams from one runner. It reports true when the runner was lost
// before it said anything and the request may be tried again.
func (h *handle) attempt(ctx context.Context, r Runner, req *inference.Request, yield func(inference.Event, error) bool, mayRetry bool) (again bool) {
	silent := true
	for ev, err := range r.Generate(ctx, req) {
		if err != nil && silent && mayRetry && isLost(r) {
			return true
		}
		silent = false
		if !yield(ev, err) || err != nil {
			return false
		}
	}
	return false
}

// Tokenize implements inference.Tokenizer.
func (h *handle) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	return ask(ctx, h, func(r Runner) ([]int32, error) { return r.Tokenize(ctx, text, special) })
}

// Detokenize implements inference.Tokenizer.
func (h *handle) Detokenize(ctx context.Context, tokens []int32) ([][]byte, error) {
	return ask(ctx, h, func(r Runner) ([][]byte, error) { return r.Detokenize(ctx, tokens) })
}

// Render implements inference.Tokenizer.
func (h *handle) Render(ctx context.Context, messages []inference.Message, open bool) (string, error) {
	return ask(ctx, h, func(r Runner) (string, error) { return r.Render(ctx, messages, open) })
}

// ask puts a question to whichever runner is alive, and once more to a fresh
// one if that runner was lost over it.
func ask[T any](ctx context.Context, h *handle, question func(Runner) (T, error)) (answer T, err error) {
	for range 2 {
		var r Runner
		if r, err = h.pool.acquire(ctx, h.name); err != nil {
			return answer, err
		}
		if answer, err = question(r); err == nil || !isLost(r) {
			return answer, err
		}
	}
	return answer, err
}
