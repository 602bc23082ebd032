package responder

import (
	"context"
	"iter"

	"dure/audio/turn"
	"dure/audio/voice"
	"dure/inference"
)

// Plain answers with one model.
type Plain struct {
	// Open gives the model of a name, and what lets go of it.
	Open func(ctx context.Context, model string) (inference.Model, func(), error)
	// Session names the conversation for the model's prefix cache.
	Session string
	// MostTokens of an answer where the client asked for no limit.
	MostTokens int
}

// Respond implements voice.Responder. What a model thinks is not said.
func (p *Plain) Respond(ctx context.Context, r turn.Request) iter.Seq2[voice.Delta, error] {
	return func(yield func(voice.Delta, error) bool) {
		model, release, err := p.Open(ctx, r.Model)
		if err != nil {
			yield(voice.Delta{}, err)
			return
		}
		defer release()
		for event, err := range model.Generate(ctx, p.request(r)) {
			if err != nil {
				yield(voice.Delta{}, err)
				return
			}
			if d, ok := delta(event); ok && !yield(d, nil) {
				return
			}
		}
	}
}

func (p *Plain) request(r turn.Request) *inference.Request {
	most := r.MaxTokens
	if most == 0 {
		most = p.MostTokens
	}
	req := &inference.Request{
		ID: r.Response, Messages: Messages(r), Tools: r.Tools, ToolChoice: r.Choice,
		Params:    inference.Params{MaxTokens: most},
		Reasoning: inference.Reasoning{Effort: inference.EffortNone}, // nobody waits for thoughts on the phone
	}
	if !r.OutOfBand {
		req.Caller = inference.Caller{Session: p.Session, Next: inference.PhaseIdle}
	}
	return req
}

// delta is an event as the session takes it.
func delta(e inference.Event) (voice.Delta, bool) {
	switch e.Kind {
	case inference.EventText:
		return voice.Delta{Text: e.Text}, e.Text != ""
	case inference.EventToolCall:
		return voice.Delta{Call: e.Call}, true
	case inference.EventDone:
		done := &voice.Done{Finish: e.Finish}
		if e.Usage != nil {
			done.Usage = *e.Usage
		}
		return voice.Delta{Done: done}, true
	}
	return voice.Delta{}, false
}
