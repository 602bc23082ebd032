package team

import (
	"context"
	"errors"
	"iter"

	"dure/inference"
)

// Model returns m with each of its requests for text in the table while it is answered.
// It is an inference.Tokenizer where m is one, and an Explainer, an Embedder and a Reranker
// where m is all of these: whoever passes on such a request enters it by itself.
func (t *Team) Model(m inference.Model) inference.Model {
	if whole, ok := m.(local); ok {
		return wholeModel{model{m, t}, whole}
	}
	if tokenizer, ok := m.(inference.Tokenizer); ok {
		return localModel{model{m, t}, tokenizer}
	}
	return model{m, t}
}

type model struct {
	inference.Model
	team *Team
}

// localModel is a model whose tokens are at hand.
type localModel struct {
	model
	inference.Tokenizer
}

// local is what a model that runs here does beside making text.
type local interface {
	inference.Tokenizer
	inference.Explainer
	inference.Embedder
	inference.Reranker
}

type wholeModel struct {
	model
	local
}

// Generate implements inference.Model.
func (m model) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	if req.Caller.Agent == "" {
		return m.Model.Generate(ctx, req)
	}
	return func(yield func(inference.Event, error) bool) {
		ctx, leave, err := m.team.Enter(ctx, req.Caller)
		if err != nil {
			yield(inference.Event{}, err)
			return
		}
		defer leave()
		r := runOf(ctx, m.team)
		for ev, err := range m.Model.Generate(ctx, req) {
			if stop := Cause(ctx); stop != nil {
				yield(inference.Event{}, stop)
				return
			}
			if err == nil && ev.Kind == inference.EventDone && ev.Usage != nil {
				r.spent(ev.Usage)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// Cause is the error that a request must end with because it was stopped; nil
// where it was not.
func Cause(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, inference.ErrAgentStopped) {
		return cause
	}
	return nil
}
