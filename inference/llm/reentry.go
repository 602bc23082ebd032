package llm

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"dure/inference"
	"dure/inference/chat"
	"dure/inference/chat/answer"
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
		reentered, tokens, cutStop atomic.Uint64
		missed                     [missRoom + 1]atomic.Uint64
	}
}

// miss is why past answers of a conversation were rendered anew.
type miss uint8

const (
	missNone     miss = iota
	missUnknown       // none of them is remembered
	missTemplate      // the template shows no place where the rest begins
	missBorder        // that place is not between two tokens
	missRoom          // as it was said it leaves too little room for the answer
)

func (m miss) String() string { return [...]string{"", "unknown", "template", "border", "room"}[m] }

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
		RerenderedUnknown: c.missed[missUnknown].Load(), RerenderedTemplate: c.missed[missTemplate].Load(),
		RerenderedBorder: c.missed[missBorder].Load(), RerenderedRoom: c.missed[missRoom].Load(),
		NotRemembered: c.cutStop.Load(),
		Conversations: len(p.of), Bytes: p.bytes, Forgotten: p.gone,
	}
}

// wording is what a request has the model read.
type wording struct {
	tokens []engine.Token
	// thinking says that the answer begins in the middle of thinking.
	thinking bool
	// text is what the template makes of the messages, with the opening of the answer;
	// of a prompt the text as it came, empty where that was tokens. The opening is what
	// is behind the first rendered bytes.
	text     string
	rendered int
	// fenced is text as it is tokenised (see fence).
	fenced string
	// said is how many of the tokens, in front, are remembered ones; tail is the text of
	// those behind them.
	said int
	tail string
	// past is the remembered conversation that was found, if found says so; missed why it
	// did not re-enter, and cause the template's part in that.
	past   spoken
	found  bool
	missed miss
	cause  error
}

// conversation returns what a request's messages become. It counts nothing (see recalled).
func (l *LLM) conversation(ctx context.Context, req *inference.Request, p plan) (w wording, err error) {
	o := l.renderOptions(req, p)
	messages, prefix := begun(req)
	// It is rendered in any case: what the template refuses is refused, also
	// where the past is known.
	text, err := l.template.Render(messages, o)
	if err != nil {
		return w, err
	}
	var opening string
	opening, w.thinking = l.opening(text, prefix, p)
	shown := rendering{messages, text, opening, o}
	if l.fence.keep(messages, &shown, prefix) {
		if shown.text, err = l.template.Render(shown.messages, shown.options); err != nil {
			return w, err
		}
	}
	w.fenced = shown.text + shown.opening
	w.text, w.rendered = l.fence.open(w.fenced), len(l.fence.open(shown.text))
	said, tail, err := l.recall(ctx, req, messages, shown, &w)
	switch {
	case err != nil:
	case said == nil:
		w.tokens, err = l.encode(ctx, req, w.fenced)
	default:
		err = l.fitting(ctx, req, said, tail, &w)
	}
	return w, err
}

// rendering is a conversation as the model is to read it.
type rendering struct {
	messages []inference.Message
	text     string
	opening  string // of the answer
	options  chat.RenderOptions
}

// opening is what the template's opening of an answer is followed by, and whether the
// answer then begins in the middle of thinking.
func (l *LLM) opening(rendered, prefix string, p plan) (text string, thinking bool) {
	thinking = l.speech.family.Opens(rendered)
	if thinking && (p.close || prefix != "") {
		return l.speech.family.Close() + prefix, false
	}
	return prefix, thinking
}

// recall returns the longest remembered past of a request and the tokens that
// follow it; nothing where there is no past that can re-enter, of which w says why.
func (l *LLM) recall(ctx context.Context, req *inference.Request, messages []inference.Message, shown rendering, w *wording) (said, tail []engine.Token, err error) {
	answered := slices.ContainsFunc(messages, func(m inference.Message) bool { return m.Role == inference.RoleAssistant })
	if l.cfg.Rerender || !answered {
		return nil, nil, nil
	}
	of := names(begin(req), messages)
	l.reentry.mu.Lock()
	k, said := l.reentry.past.longest(of)
	l.reentry.mu.Unlock()
	if k < 0 {
		w.missed = missUnknown
		return nil, nil, nil
	}
	w.past, w.found = of[k], true
	text, err := l.template.Tail(shown.text, shown.messages, k, shown.options)
	if err != nil {
		w.missed, w.cause = missTemplate, err
		return nil, nil, nil
	}
	if text += shown.opening; len(said)+l.model.MinTokens(len(text)) >= l.info.Context {
		w.missed = missRoom
		return nil, nil, nil
	}
	if tail, err = l.fence.tokens(text, func(part string, first bool) ([]engine.Token, error) {
		return l.tokenize(ctx, part, false, true)
	}); err != nil {
		return nil, nil, err
	}
	if !l.apart(text, tail) {
		w.missed = missBorder
		return nil, nil, nil
	}
	w.tail = l.fence.open(text)
	return said, tail, nil
}

// recalled counts how a request's past came into its prompt, says once what stands in
// the way of all of them, and keeps what was used.
func (l *LLM) recalled(w *wording) {
	c := &l.reentry.counters
	if w.found {
		l.reentry.mu.Lock()
		l.reentry.past.touch(w.past)
		l.reentry.mu.Unlock()
	}
	if w.said > 0 {
		c.reentered.Add(1)
		c.tokens.Add(uint64(w.said))
	}
	if w.missed == missNone || c.missed[w.missed].Add(1) > 1 {
		return
	}
	switch w.missed {
	case missTemplate:
		l.log.Warn("past answers are read again with each turn", "model", l.cfg.Name, "error", w.cause)
	case missBorder:
		l.log.Warn("past answers are read again with each turn: the chat template ends them with no control token", "model", l.cfg.Name)
	}
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

// fitting takes the prompt as it was said, unless it leaves less room than
// the answer wants and rendering anew leaves clearly more.
func (l *LLM) fitting(ctx context.Context, req *inference.Request, said, tail []engine.Token, w *wording) error {
	limit, prompt := l.info.Context, slices.Concat(said, tail)
	want := req.Params.MaxTokens
	if want <= 0 || want >= limit {
		want = limit / answerShare
	}
	if len(prompt)+want > limit {
		anew, err := l.encode(ctx, req, w.fenced)
		shorter := len(prompt) - len(anew)
		if len(prompt) >= limit || err == nil && shorter*worthShorter >= len(prompt) {
			w.tokens, w.missed = anew, missRoom
			return err
		}
	}
	w.tokens, w.said = prompt, len(said)
	return nil
}

// utterance collects one answer as it was sampled and as it was handed out.
type utterance struct {
	// text is what was handed out; of an answer that is read by a parser its content.
	text   strings.Builder
	calls  []inference.ToolCall
	tokens []engine.Token
	// out is where in the raw text what was handed out ends; read says that there is
	// a parser, and text is not all of it.
	out  int
	read bool
}

// add takes what a parser made of the answer.
func (u *utterance) add(p answer.Piece) {
	u.read, u.out = true, p.To
	switch p.Kind {
	case inference.EventText:
		u.text.WriteString(p.Text)
	case inference.EventToolCall:
		for len(u.calls) <= p.Call.Index {
			u.calls = append(u.calls, inference.ToolCall{ID: p.Call.ID, Name: p.Call.Name})
		}
		u.calls[p.Call.Index].Arguments += p.Call.Arguments
	}
}

// message is the answer as the client will send it back.
func (u *utterance) message(prefix string) inference.Message {
	return inference.Message{Role: inference.RoleAssistant, Content: prefix + u.text.String(), ToolCalls: u.calls}
}

// cut returns the tokens whose text is exactly what was handed out; false where
// it ends inside one of them.
func (u *utterance) cut(piece func(engine.Token) string) ([]engine.Token, bool) {
	text := u.text.String()
	if u.read {
		return u.upTo(piece)
	}
	for i, t := range u.tokens {
		if text == "" {
			return u.tokens[:i], true
		}
		var ok bool
		if text, ok = strings.CutPrefix(text, piece(t)); !ok {
			return nil, false
		}
	}
	return u.tokens, text == ""
}

// upTo returns the tokens of the raw text up to where what was handed out ends.
func (u *utterance) upTo(piece func(engine.Token) string) ([]engine.Token, bool) {
	at := 0
	for i, t := range u.tokens {
		if at >= u.out {
			return u.tokens[:i], at == u.out
		}
		at += len(piece(t))
	}
	return u.tokens, at == u.out
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
		if tokens, ok = u.cut(l.piece); !ok {
			l.reentry.counters.cutStop.Add(1)
			return
		}
	}
	messages, prefix := begun(req)
	all := names(begin(req), append(slices.Clip(messages), u.message(prefix)))
	l.reentry.mu.Lock()
	defer l.reentry.mu.Unlock()
	l.reentry.past.limit = l.reentryLimit()
	l.reentry.past.remember(all[len(all)-1], prompt, tokens)
}

// begun splits off the beginning of the answer, where a request brings one.
func begun(req *inference.Request) (messages []inference.Message, prefix string) {
	if last := len(req.Messages) - 1; req.Continue && last >= 0 {
		return req.Messages[:last], req.Messages[last].Content
	}
	return req.Messages, ""
}
