package pool

import (
	"context"
	"iter"
	"sync"
	"time"

	"dure/inference"
)

// handle is a use of a model. Where its runner is lost it finds another.
type handle struct {
	pool *Pool
	name string
	keep time.Duration
	info inference.Info
	// embedding is nil for models that make text.
	embedding *inference.EmbeddingInfo

	mu       sync.Mutex // several requests may share the handle
	use      opened
	released bool
}

// Info implements inference.Model.
func (h *handle) Info() inference.Info { return h.info }

func (h *handle) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.released {
		h.pool.giveBack(h.use.id)
	}
	h.released = true
}

// runner is the one that is alive, a fresh one if the last was lost.
func (h *handle) runner(ctx context.Context) (Runner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.use.runner != nil && !isLost(h.use.runner) {
		return h.use.runner, nil
	}
	h.pool.giveBack(h.use.id)
	h.use = opened{}
	a, err := h.pool.ask(ctx, h.name, h.keep)
	if err != nil {
		return nil, err
	}
	if h.released { // while it was waited for
		h.pool.giveBack(a.id)
		return nil, context.Canceled
	}
	h.use = a
	return a.runner, nil
}

// Generate implements inference.Model over whichever runner is alive.
func (h *handle) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		const tries = 2
		for try := 1; ; try++ {
			r, err := h.runner(ctx)
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
func (h *handle) Render(ctx context.Context, req *inference.Request, open bool) (string, error) {
	return ask(ctx, h, func(r Runner) (string, error) { return r.Render(ctx, req, open) })
}

// Explain implements inference.Explainer.
func (h *handle) Explain(ctx context.Context, req *inference.ExplainRequest) (*inference.Explanation, error) {
	return ask(ctx, h, func(r Runner) (*inference.Explanation, error) {
		e, ok := r.(inference.Explainer)
		if !ok {
			return nil, inference.Errorf(inference.CodeUnsupported, "model %s cannot tell what it would read", h.name)
		}
		return e.Explain(ctx, req)
	})
}

// ask puts a question to whichever runner is alive, and once more to a fresh
// one if that runner was lost over it.
func ask[T any](ctx context.Context, h *handle, question func(Runner) (T, error)) (answer T, err error) {
	for range 2 {
		var r Runner
		if r, err = h.runner(ctx); err != nil {
			return answer, err
		}
		if answer, err = question(r); err == nil || !isLost(r) {
			return answer, err
		}
	}
	return answer, err
}
