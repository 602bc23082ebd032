package openai

import (
	"crypto/rand"
	"net/http"

	"dure/inference"
)

// answer encodes the events of a model for the client. It is used by the
// goroutine of the request only.
type answer interface {
	// start opens a choice.
	start(c *choice) error
	// text adds a piece to a choice.
	text(c *choice, text string, tokens []inference.TokenLogprob) error
	// end closes a choice; final tells that it is the last one.
	end(c *choice, final bool) error
	// push sends what there is, unless hold asks to wait for more.
	push(hold bool) error
	// begun reports whether the client has had a first byte.
	begun() bool
	// done ends the answer.
	done(u *usage) error
}

func (x *exchange) newHead(s shape, streamed bool) head {
	id, object, chunk := s.names()
	if streamed {
		object = chunk
	}
	return head{ID: id + rand.Text(), Object: object, Created: x.start.Unix(), Model: x.gen.model, Fingerprint: x.h.version}
}

// whole collects an answer that is sent in one piece.
type whole struct {
	x        *exchange
	shape    shape
	logprobs bool
	choices  []*choice
}

func (a *whole) start(c *choice) error {
	a.choices = append(a.choices, c)
	if a.logprobs {
		c.tokens = []placed{}
	}
	return nil
}

func (a *whole) text(c *choice, text string, tokens []inference.TokenLogprob) error {
	c.text.WriteString(text)
	if a.logprobs {
		c.tokens = append(c.tokens, c.place(text, tokens)...)
	}
	return nil
}

func (a *whole) end(*choice, bool) error { return nil }

func (a *whole) push(bool) error { return nil }

func (a *whole) begun() bool { return true }

func (a *whole) done(u *usage) error {
	body := completion{head: a.x.newHead(a.shape, false), Usage: u, Warnings: a.x.warnings}
	body.Choices = make([]any, len(a.choices))
	for _, c := range a.choices {
		body.Choices[c.index] = a.shape.whole(c)
	}
	return a.x.json(http.StatusOK, body)
}
