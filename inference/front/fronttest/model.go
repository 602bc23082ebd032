// Package fronttest is what the tests of HTTP surfaces need: a scripted model in a
// catalogue of two, and a server around them with its log, its metrics and, where a
// test wants it, a clock of the test's own. It owns no expectations. Only tests
// import it.
package fronttest

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"dure/inference"
	"dure/inference/front"
)

// GenerateFunc is a model's Generate.
type GenerateFunc func(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error]

// Models is a catalogue whose models all generate by the same function. Change its
// fields between requests only.
type Models struct {
	Listings    []front.Listing
	Generate    GenerateFunc
	Info        inference.Info
	Remote      bool                                         // no tokenizer
	Bare        bool                                         // the tokenizer adds nothing
	TokenizeErr error                                        // of the tokenizer
	OnOpen      func(ctx context.Context, name string) error // may be nil
	// Explain answers what a model is asked as an Explainer; nil where it is none.
	Explain func(*inference.ExplainRequest) (*inference.Explanation, error)

	Opened, Released atomic.Int64
	Kept             atomic.Int64 // how long the latest wanted it to stay
}

// List implements front.Models.
func (f *Models) List() []front.Listing { return f.Listings }

// Open implements front.Models.
func (f *Models) Open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error) {
	if f.OnOpen != nil {
		if err := f.OnOpen(ctx, name); err != nil {
			return nil, nil, err
		}
	}
	f.Opened.Add(1)
	f.Kept.Store(int64(keep))
	var model inference.Model = Model{f.Generate, f.Info}
	if !f.Remote {
		model = local{model, f.Bare, f.TokenizeErr}
	}
	if f.Explain != nil {
		model = explainer{model.(local), f.Explain}
	}
	return model, func() { f.Released.Add(1) }, nil
}

// Model has no tokenizer.
type Model struct {
	Events      GenerateFunc
	Description inference.Info
}

// Info implements inference.Model.
func (m Model) Info() inference.Info { return m.Description }

// Generate implements inference.Model.
func (m Model) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return m.Events(ctx, req)
}

// local is a model whose tokens are bytes, from 0 to 255, and 256, which is
// special and spelled "<s>".
type local struct {
	inference.Model
	bare bool
	err  error
}

func (f local) Tokenize(_ context.Context, text string, special bool) ([]int32, error) {
	if f.err != nil {
		return nil, f.err
	}
	var ids []int32
	if special && !f.bare {
		ids = append(ids, 256)
	}
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

func (local) Detokenize(_ context.Context, tokens []int32) ([][]byte, error) {
	var texts [][]byte
	for _, id := range tokens {
		switch {
		case id == 256:
			texts = append(texts, []byte("<s>"))
		case id < 256:
			texts = append(texts, []byte{byte(id)})
		default:
			e := inference.Errorf(inference.CodeInvalidRequest, "there is no token %d", id)
			e.Param = "tokens"
			return nil, e
		}
	}
	return texts, nil
}

func (local) Render(_ context.Context, req *inference.Request, open bool) (string, error) {
	prompt := ""
	for _, m := range req.Messages {
		prompt += "[" + m.Role + "]" + m.Content
	}
	if open {
		prompt += "[assistant]"
	}
	return prompt, nil
}

type explainer struct {
	local
	explain func(*inference.ExplainRequest) (*inference.Explanation, error)
}

func (e explainer) Explain(_ context.Context, req *inference.ExplainRequest) (*inference.Explanation, error) {
	return e.explain(req)
}

// Script answers every request with the same events and then err, if any.
func Script(err error, events ...inference.Event) GenerateFunc {
	return func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			if err != nil {
				yield(inference.Event{}, err)
			}
		}
	}
}

// Started is the first event, of a prompt of 7 tokens.
func Started() inference.Event {
	return inference.Event{Kind: inference.EventStarted, Usage: &inference.Usage{PromptTokens: 7}}
}

// Says is a piece of text.
func Says(s string) inference.Event { return inference.Event{Kind: inference.EventText, Text: s} }

// Done is the last event, of an answer of 3 tokens.
func Done() inference.Event {
	return inference.Event{Kind: inference.EventDone, Finish: inference.FinishStop, Usage: &inference.Usage{
		PromptTokens: 7, CompletionTokens: 3, CachedTokens: 2, QueueMS: 1.5, PrefillMS: 2.5, DecodeMS: 3.5}}
}
