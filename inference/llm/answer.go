package llm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/chat"
	"dure/inference/chat/answer"
	"dure/kvcache"
	"dure/kvcache/codec"
)

// reply turns one request's items into events.
type reply struct {
	l         *LLM
	req       *inference.Request
	r         *request
	text      *chat.Stream
	parser    *answer.Parser      // nil where all is text
	kind      inference.EventKind // of the last piece that the parser made
	loop      answer.Repetition
	yield     func(inference.Event, error) bool
	completed int // tokens that went into the answer
	thought   int // of those were thinking
	// stopped is why the answer ends before the model ends it.
	stopped inference.FinishReason
	said    utterance
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
func (a *reply) run(ctx context.Context) (ended bool) {
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
			if a.stopped != "" && ok { // a reader that left is told nothing more
				a.close(a.stopped, a.r.report(time.Now()))
			}
			if a.stopped != "" || !ok {
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
func (a *reply) push(d drawn, more bool) bool {
	a.completed++
	a.said.tokens = append(a.said.tokens, d.token)
	if a.parser != nil && a.parser.Thinking() {
		a.thought++
	}
	begin := a.text.Decided()
	text, stopped := a.text.Push(a.l.piece(d.token))
	switch {
	case stopped:
		a.stopped = inference.FinishStop
	case !a.r.ignoreEOS && a.loop.Push(d.token):
		a.stopped = inference.FinishRepetition
	}
	if a.r.topLogprobs >= 0 {
		a.logprobs = append(a.logprobs, placed{a.name(d.logprob), begin, a.text.Decided()})
	}
	return a.say(text, more || a.stopped != "")
}

// name fills in the bytes of a logprob's tokens.
func (a *reply) name(p inference.TokenLogprob) inference.TokenLogprob {
	p.Bytes = []byte(a.l.vocabulary.Piece(p.Token, true))
	for i := range p.Top {
		p.Top[i].Bytes = []byte(a.l.vocabulary.Piece(p.Top[i].Token, true))
	}
	return p
}

// say yields text with the logprobs of the tokens that it completes.
func (a *reply) say(text string, more bool) bool {
	if text == "" {
		return true
	}
	if a.parser != nil {
		return a.tell(a.parser.Feed(text), more)
	}
	a.said.text.WriteString(text)
	return a.yield(inference.Event{Kind: inference.EventText, Text: text, Logprobs: a.complete(), More: more}, nil)
}

// tell yields what the parser made of text, and notes when a stop string ended it.
func (a *reply) tell(pieces []answer.Piece, more bool) bool {
	for i, p := range pieces {
		a.said.add(p)
		a.kind = p.Kind
		p.Event.Logprobs = a.within(p)
		p.Event.More = more || i < len(pieces)-1
		if !a.yield(p.Event, nil) {
			return false
		}
	}
	if _, ok := a.parser.Stopped(); ok {
		a.stopped = inference.FinishStop
	}
	return true
}

// within takes the logprobs of tokens that have a part in the raw text of a piece.
// Those before it were marks and are nobody's.
func (a *reply) within(p answer.Piece) []inference.TokenLogprob {
	skip := 0
	for skip < len(a.logprobs) && a.logprobs[skip].begin < p.From && a.logprobs[skip].end <= p.From {
		skip++
	}
	a.logprobs = a.logprobs[skip:]
	n := 0
	for n < len(a.logprobs) && a.logprobs[n].begin < p.To {
		n++
	}
	if p.Kind == inference.EventToolCall {
		a.logprobs = a.logprobs[n:]
		return nil
	}
	return a.take(n)
}

// complete takes the logprobs of tokens whose text is out.
func (a *reply) complete() []inference.TokenLogprob {
	n := 0
	for n < len(a.logprobs) && a.logprobs[n].end <= a.text.Out() {
		n++
	}
	return a.take(n)
}

func (a *reply) take(n int) []inference.TokenLogprob {
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
func (a *reply) end(it item) {
	if it.kind == itemError {
		a.yield(inference.Event{}, it.err)
		return
	}
	if a.say(a.text.Flush(), true) {
		a.close(it.finish, it.report)
	}
}

// close reads what the parser still holds and yields the last event.
func (a *reply) close(finish inference.FinishReason, p report) {
	var warnings []inference.Warning
	if _, stopped := a.text.Matched(); stopped {
		finish = inference.FinishStop
	}
	if a.parser != nil {
		pieces, w := a.parser.Finish(finish != inference.FinishStop)
		if !a.tell(pieces, true) {
			return
		}
		warnings = w
		if _, stopped := a.parser.Stopped(); stopped {
			finish = inference.FinishStop
		}
		if finish == inference.FinishStop && a.parser.Calls() > 0 {
			finish = inference.FinishToolCalls
		}
	}
	a.done(finish, warnings, p)
}

// broken says why an outbox ended without a last item.
func (a *reply) broken(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errStopped
}

// done yields the last event, and before it the logprobs of tokens that are
// part of the answer although no text came after them. A token that a stop
// string took away whole is not, and neither is one that is a mark.
func (a *reply) done(finish inference.FinishReason, warnings []inference.Warning, p report) {
	n := len(a.logprobs)
	stop, stopped := a.text.Matched()
	kind := inference.EventText
	if a.parser != nil {
		if stop, stopped = a.parser.Stopped(); stopped || a.parser.Calls() > 0 {
			n = 0
		}
		kind = cmp.Or(a.kind, kind)
	}
	// Before the reader knows of the end: its next turn may come at once.
	a.l.remember(a.req, a.r.prompt, &a.said, stopped)
	if stopped && a.parser == nil {
		for n > 0 && a.logprobs[n-1].begin >= a.text.Out() {
			n--
		}
	}
	if rest := a.take(n); rest != nil && !a.yield(inference.Event{Kind: kind, Logprobs: rest, More: true}, nil) {
		return
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	warnings = slices.Concat(a.r.warnings, lossOf(p.loss), warnings)
	a.yield(inference.Event{Kind: inference.EventDone, Finish: finish, Stop: stop, Warnings: warnings, Usage: &inference.Usage{
		PromptTokens: len(a.r.prompt), CompletionTokens: a.completed, CachedTokens: p.reused.Reuse, ReasoningTokens: a.thought,
		QueueMS: ms(p.queue), RestoreMS: ms(p.restore), PrefillMS: ms(p.prefill), DecodeMS: ms(p.decode),
		Prefix: a.l.prefixUsage(p.reused), DraftedTokens: p.drafted, AcceptedTokens: p.accepted,
	}}, nil)
}

// lossOf is what an answer says whose beginning was restored from a state that had lost
// something.
func lossOf(c codec.Class) []inference.Warning {
	if c <= codec.Exact {
		return nil
	}
	return []inference.Warning{{Code: inference.CodeLossyCache,
		Message: fmt.Sprintf("what this answer goes on from was stored in class %v, which loses precision; --cache-class exact keeps all of it", c)}}
}

// prefixUsage says where reused tokens came from, and why there were no more.
func (l *LLM) prefixUsage(m kvcache.Match) *inference.PrefixUsage {
	u := &inference.PrefixUsage{Tier: m.Tier.String()}
	if m.Reason != kvcache.ReasonNone {
		u.Reason = m.Reason.String()
	}
	if b := m.Broke; b != nil {
		u.Break = &inference.PrefixBreak{Position: b.At, Was: l.shown(b.Was), Is: l.shown(b.Is)}
	}
	return u
}

// shown is the text of a token, for people.
func (l *LLM) shown(t int32) string {
	return strings.ToValidUTF8(l.vocabulary.Piece(t, true), "\uFFFD")
}
