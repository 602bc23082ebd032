package openai

import (
	"crypto/rand"
	"fmt"

	"dure/inference"
	"dure/inference/front"
)

// encoder is what the two ways to send an answer have in common.
type encoder struct {
	x        *front.Exchange
	shape    shape
	model    string
	seed     uint64 // of the first choice
	logprobs bool
	choices  []choice
}

func newEncoder(x *front.Exchange, s shape, req *request, model string, seed uint64) *encoder {
	return &encoder{x: x, shape: s, model: model, seed: seed, logprobs: req.logprobs,
		choices: make([]choice, max(1, len(req.prompts))*req.n)}
}

func (e *encoder) head(streamed bool) head {
	id, object, chunk := e.shape.names()
	if streamed {
		object = chunk
	}
	return head{ID: id + rand.Text(), Object: object, Created: e.x.Start().Unix(), Model: e.model, Fingerprint: e.x.Version()}
}

// start returns this package's side of a choice that begins.
func (e *encoder) start(c *front.Choice) *choice {
	own := &e.choices[c.Index]
	own.Choice = c
	return own
}

// unwritten is the error for an event that these shapes have no member for.
func unwritten(ev inference.Event) error {
	return fmt.Errorf("the model's event %q was not asked for", ev.Kind)
}

// whole collects an answer that is sent in one piece.
type whole struct{ *encoder }

// Start implements front.Answer.
func (a *whole) Start(dst []byte, c *front.Choice) ([]byte, error) {
	own := a.start(c)
	if a.logprobs {
		own.tokens = []placed{}
	}
	return dst, nil
}

// Event implements front.Answer.
func (a *whole) Event(dst []byte, c *front.Choice, ev inference.Event) ([]byte, error) {
	own := &a.choices[c.Index]
	switch ev.Kind {
	case inference.EventReasoning:
		own.thoughts.WriteString(ev.Text)
		return dst, nil
	case inference.EventToolCall:
		return dst, own.addCall(ev.Call)
	}
	own.text.WriteString(ev.Text)
	if a.logprobs {
		own.tokens = append(own.tokens, own.place(ev.Text, ev.Logprobs)...)
	}
	return dst, nil
}

// End implements front.Answer.
func (a *whole) End(dst []byte, _ *front.Choice, _ bool) ([]byte, error) { return dst, nil }

// Done implements front.Answer.
func (a *whole) Done(dst []byte, u inference.Usage) ([]byte, error) {
	body := completion{head: a.head(false), Usage: wireUsage(u, a.seed), Warnings: a.x.Warnings()}
	for i := range a.choices {
		body.Choices = append(body.Choices, a.shape.whole(&a.choices[i]))
	}
	return front.AppendJSON(dst, body)
}
