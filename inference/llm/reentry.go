package llm

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"dure/inference"
	"dure/inference/chat"
	"dure/inference/engine"
)

// Past answers re-enter a prompt as the tokens that were sampled.
//
// A client sends the whole conversation with each turn. Rendered and tokenised
// anew, its past answers are not what the model said: the tokeniser cuts the
// text into other tokens than the model drew, the template drops the thinking,
// the client trims. Each difference ends the prefix that is in the cache. So
// the tokens of every finished answer, its prompt's included, are remembered
// under the conversation as the client will send it. The next prompt is the
// longest such past, then what the template writes behind that answer.
//
// The model therefore sees its own past as it was: with the thinking that the
// template would have dropped, and with the head of the prompt as it was
// rendered then, the date in it for example. Config.Rerender turns that off.

// defaultReentryBytes hold the tokens of a hundred conversations of 160,000.
const defaultReentryBytes = 64 << 20

// reentry is what requests share of the past. The lock is held for a look-up or
// an insertion only; the owner goroutine never takes it.
type reentry struct {
	mu       sync.Mutex
	past     past
	counters struct {
		reentered, tokens                        atomic.Uint64
		unknown, template, border, room, cutStop atomic.Uint64
	}
}

// Reentry counts how the past answers of conversations came into prompts.
type Reentry struct {
	// Reentered requests began with remembered tokens, ReenteredTokens in all.
	Reentered       uint64 `json:"reentered"`
	ReenteredTokens uint64 `json:"reentered_tokens"`
	// Rerendered requests had past answers that were rendered anew, because
	// none of them was remembered (made by another model, before a load that keeps
	// nothing on disk, changed by the client, or gone),
	RerenderedUnknown uint64 `json:"rerendered_unknown"`
	// because the template shows no place where the rest begins,
	RerenderedTemplate uint64 `json:"rerendered_template"`
	// because that place is not between two tokens,
	RerenderedBorder uint64 `json:"rerendered_border"`
	// or because as it was said it leaves too little room for the answer.
	RerenderedRoom uint64 `json:"rerendered_room"`
	// NotRemembered answers were cut by a stop string inside a token.
	NotRemembered uint64 `json:"not_remembered"`
	// Conversations that are remembered now and the Bytes they take; Forgotten
	// ones went for want of room.
	Conversations int    `json:"conversations"`
	Bytes         int    `json:"bytes"`
	Forgotten     uint64 `json:"forgotten"`
}

// Reentry reads the counters.
func (l *LLM) Reentry() Reentry {
	c := &l.reentry.counters
	l.reentry.mu.Lock()
	defer l.reentry.mu.Unlock()
	p := &l.reentry.past
	return Reentry{
		Reentered: c.reentered.Load(), ReenteredTokens: c.tokens.Load(),
		RerenderedUnknown: c.unknown.Load(), RerenderedTemplate: c.template.Load(),
		RerenderedBorder: c.border.Load(), RerenderedRoom: c.room.Load(),
		NotRemembered: c.cutStop.Load(),
		Conversations: len(p.of), Bytes: p.bytes, Forgotten: p.gone,
	}
}

// conversation returns the tokens of a request's messages.
func (l *LLM) conversation(ctx context.Context, req *inference.Request) ([]engine.Token, error) {
	o := l.renderOptions(true)
	// It is rendered in any case: what the template refuses is refused, also
	// where the past is known.
	text, err := l.template.Render(req.Messages, o)
	if err != nil {
		return nil, err
	}
	said, tail, err := l.recall(ctx, req, text, o)
	switch {
	case err != nil:
		return nil, err
	case said == nil:
		return l.encode(ctx, req, text)
	}
	return l.fitting(ctx, req, text, said, tail)
}

// recall returns the longest remembered past of a request and the tokens that
// follow it; nothing where there is no past that can re-enter, which it counts.
func (l *LLM) recall(ctx context.Context, req *inference.Request, rendered string, o chat.RenderOptions) (said, tail []engine.Token, err error) {
	answered := slices.ContainsFunc(req.Messages, func(m inference.Message) bool { return m.Role == inference.RoleAssistant })
	if l.cfg.Rerender || !answered {
		return nil, nil, nil
	}
	of, c := names(begin(req), req.Messages), &l.reentry.counters
	l.reentry.mu.Lock()
	k, said := l.reentry.past.longest(of)
	l.reentry.mu.Unlock()
	if k < 0 {
		c.unknown.Add(1)
		return nil, nil, nil
	}
	text, err := l.template.Tail(rendered, req.Messages, k, o)
	if err != nil {
		if c.template.Add(1) == 1 {
			l.log.Warn("past answers are read again with each turn", "model", l.cfg.Name, "error", err)
		}
		return nil, nil, nil
	}
	if len(said)+l.model.MinTokens(len(text)) >= l.info.Context {
		c.room.Add(1)
		return nil, nil, nil
	}
	if tail, err = l.tokenize(ctx, text, false, true); err != nil {
		return nil, nil, err
	}
	if !l.apart(text, tail) {
		if c.border.Add(1) == 1 {
			l.log.Warn("past answers are read again with each turn: the chat template ends them with no control token", "model", l.cfg.Name)
		}
		return nil, nil, nil
	}
	return said, tail, nil
}

// apart reports whether a text has the same tokens behind any other tokens as
// alone: it begins with a control token, across which none reaches, and the
// tokeniser puts nothing behind the whole.
func (l *LLM) apart(text string, tokens []engine.Token) bool {
	if len(tokens) == 0 || l.model.Facts().AddEOS {
		return false
	}
	first := l.vocabulary.Piece(tokens[0], true)
	return first != "" && l.vocabulary.Piece(tokens[0], false) == "" && strings.HasPrefix(text, first)
}

// What the template drops of the past may be what makes room for the answer.
const (
	// An answer without a limit of its own should find a quarter of the context.
	answerShare = 4
	// A prompt that is rendered anew is read anew: that it is a tenth shorter
	// is the least that pays.
	worthShorter = 10
)

// fitting returns the prompt as it was said, unless it leaves less room than
// the answer wants and rendering anew leaves clearly more.
func (l *LLM) fitting(ctx context.Context, req *inference.Request, rendered string, said, tail []engine.Token) ([]engine.Token, error) {
	limit, prompt := l.info.Context, slices.Concat(said, tail)
	want := req.Params.MaxTokens
	if want <= 0 || want >= limit {
		want = limit / answerShare
	}
	if len(prompt)+want > limit {
		anew, err := l.encode(ctx, req, rendered)
		shorter := len(prompt) - len(anew)
		if len(prompt) >= limit || err == nil && shorter*worthShorter >= len(prompt) {
			l.reentry.counters.room.Add(1)
			return anew, err
		}
	}
	l.reentry.counters.reentered.Add(1)
	l.reentry.counters.tokens.Add(uint64(len(said)))
	return prompt, nil
}

// utterance collects one answer as it was sampled and as it was handed out.
type utterance struct {
	text   strings.Builder
	tokens []engine.Token
}

// cut returns the tokens whose text is exactly what was handed out; false where
// it ends inside one of them.
func (u *utterance) cut(v *engine.Vocabulary) ([]engine.Token, bool) {
	rest := u.text.String()
	for i, t := range u.tokens {
		if rest == "" {
			return u.tokens[:i], true
		}
		var ok bool
		if rest, ok = strings.CutPrefix(rest, v.Piece(t, false)); !ok {
			return nil, false
		}
	}
	return u.tokens, rest == ""
}

// remember keeps a finished answer for the turn after it. The token that ended
// it, if one did, is not among the tokens: it was never computed, and what ends
// the turn is written by the template. Of an answer that a stop string cut, the
// tokens before the cut are kept; where the cut is inside a token there are no
// tokens for what was handed out, and nothing is kept.
func (l *LLM) remember(req *inference.Request, prompt []engine.Token, u *utterance, stopped bool) {
	if l.cfg.Rerender || req.Prompt != nil {
		return
	}
	tokens := u.tokens
	if stopped {
		var ok bool
		if tokens, ok = u.cut(l.vocabulary); !ok {
			l.reentry.counters.cutStop.Add(1)
			return
		}
	}
	answer := inference.Message{Role: inference.RoleAssistant, Content: u.text.String()}
	all := names(begin(req), append(slices.Clip(req.Messages), answer))
	l.reentry.mu.Lock()
	defer l.reentry.mu.Unlock()
	l.reentry.past.limit = l.reentryLimit()
	l.reentry.past.remember(all[len(all)-1], prompt, tokens)
}
