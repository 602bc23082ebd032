package llm

import (
	"context"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/chat"
	"dure/kvcache"
)

// answer turns one request's items into events.
type answer struct {
	l         *LLM
	req       *inference.Request
	r         *request
	text      *chat.Stream
	yield     func(inference.Event, error) bool
	completed int // tokens that went into the answer
	stopped   bool
	said      utterance
	// logprobs of tokens whose text has not come out yet.
	logprobs []placed
}

// placed is a token's logprob and where in the text the token ends.
type placed struct {
	inference.TokenLogprob
	begin, end int
}

// run yields events until the end. It reports false when the owner still holds
// the request, because the reader went away or a stop string ended it early.
func (a *answer) run(ctx context.Context) (ended bool) {
	usage := inference.Usage{PromptTokens: len(a.r.prompt)}
	if !a.yield(inference.Event{Kind: inference.EventStarted, Usage: &usage}, nil) {
		return false
	}
	for {
		it, ok := a.l.receive(ctx, a.r)
		if !ok {
			a.yield(inference.Event{}, a.broken(ctx))
			return ctx.Err() == nil
		}
		ended = it.kind != itemTokens
		for i, d := range it.tokens {
			more := ended || i < len(it.tokens)-1 || len(a.r.outbox) > 0
			ok := a.push(d, more)
			if a.stopped && ok { // a reader that left is told nothing more
				a.done(inference.FinishStop, a.r.report(time.Now()))
			}
			if a.stopped || !ok {
				return ended
			}
		}
		if ended {
			a.end(it)
			return true
		}
	}
}

// push adds a token and yields the text that is now certain. It reports false
// when the reader has left.
func (a *answer) push(d drawn, more bool) bool {
	a.completed++
	a.said.tokens = append(a.said.tokens, d.token)
	begin := a.text.Decided()
	var text string
	text, a.stopped = a.text.Push(a.l.vocabulary.Piece(d.token, false))
	if a.r.topLogprobs >= 0 {
		a.logprobs = append(a.logprobs, placed{a.name(d.logprob), begin, a.text.Decided()})
	}
	return a.say(text, more || a.stopped)
}

// name fills in the bytes of a logprob's tokens.
func (a *answer) name(p inference.TokenLogprob) inference.TokenLogprob {
	p.Bytes = []byte(a.l.vocabulary.Piece(p.Token, true))
	for i := range p.Top {
		p.Top[i].Bytes = []byte(a.l.vocabulary.Piece(p.Top[i].Token, true))
	}
	return p
}

// say yields text with the logprobs of the tokens that it completes.
func (a *answer) say(text string, more bool) bool {
	if text == "" {
		return true
	}
	a.said.text.WriteString(text)
	return a.yield(inference.Event{Kind: inference.EventText, Text: text, Logprobs: a.complete(), More: more}, nil)
}

// complete takes the logprobs of tokens whose text is out.
func (a *answer) complete() []inference.TokenLogprob {
	n := 0
	for n < len(a.logprobs) && a.logprobs[n].end <= a.text.Out() {
		n++
	}
	return a.take(n)
}

func (a *answer) take(n int) []inference.TokenLogprob {
	if n == 0 {
		return nil
	}
	out := make([]inference.TokenLogprob, n)
	for i, p := range a.logprobs[:n] {
		out[i] = p.TokenLogprob
	}
	a.logprobs = a.logprobs[n:]
	return out
}

// end yields what is left and the last event.
func (a *answer) end(it item) {
	if it.kind == itemError {
		a.yield(inference.Event{}, it.err)
		return
	}
	if a.say(a.text.Flush(), true) {
		finish := it.finish
		if _, stopped := a.text.Matched(); stopped {
			finish = inference.FinishStop
		}
		a.done(finish, it.report)
	}
}

// broken says why an outbox ended without a last item.
func (a *answer) broken(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errStopped
}

// done yields the last event, and before it the logprobs of tokens that are
// part of the answer although no text came after them. A token that a stop
// string took away whole is not.
func (a *answer) done(finish inference.FinishReason, p report) {
	n := len(a.logprobs)
	_, stopped := a.text.Matched()
	// Before the reader knows of the end: its next turn may come at once.
	a.l.remember(a.req, a.r.prompt, &a.said, stopped)
	if stopped {
		for n > 0 && a.logprobs[n-1].begin >= a.text.Out() {
			n--
		}
	}
	if rest := a.take(n); rest != nil && !a.yield(inference.Event{Kind: inference.EventText, Logprobs: rest, More: true}, nil) {
		return
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	a.yield(inference.Event{Kind: inference.EventDone, Finish: finish, Usage: &inference.Usage{
		PromptTokens: len(a.r.prompt), CompletionTokens: a.completed, CachedTokens: p.reused.Reuse,
		QueueMS: ms(p.queue), RestoreMS: ms(p.restore), PrefillMS: ms(p.prefill), DecodeMS: ms(p.decode),
		Prefix: a.prefix(p.reused), DraftedTokens: p.drafted, AcceptedTokens: p.accepted,
	}}, nil)
}

// prefix says where reused tokens came from, and why there were no more.
func (a *answer) prefix(m kvcache.Match) *inference.PrefixUsage {
	u := &inference.PrefixUsage{Tier: m.Tier.String()}
	if m.Reason != kvcache.ReasonNone {
		u.Reason = m.Reason.String()
	}
	if b := m.Broke; b != nil {
		u.Break = &inference.PrefixBreak{Position: b.At, Was: a.piece(b.Was), Is: a.piece(b.Is)}
	}
	return u
}

func (a *answer) piece(t int32) string {
	return strings.ToValidUTF8(a.l.vocabulary.Piece(t, true), "\uFFFD")
}
