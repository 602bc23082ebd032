package llm

import (
	"context"

	"dure/inference"
	"dure/inference/engine"
	"dure/kvcache"
)

// differing is how many tokens from the first difference on are told of both sides.
const differing = 16

// look asks the owner what the cache knows of a prompt.
type look struct {
	tokens  []engine.Token
	session kvcache.SessionID
	seen    chan kvcache.Inspection // has room for the answer
}

// Explain implements inference.Explainer. The owner answers between two steps.
func (l *LLM) Explain(ctx context.Context, asked *inference.ExplainRequest) (*inference.Explanation, error) {
	req, warnings := l.normalised(asked.Request)
	_, plan := l.room(req)
	w, err := l.prompt(ctx, req, plan)
	if err != nil {
		return nil, err
	}
	who, err := l.caller(req, w.tokens)
	if err != nil {
		return nil, err
	}
	seen, err := l.look(ctx, look{w.tokens, who.session, make(chan kvcache.Inspection, 1)})
	if err != nil {
		return nil, err
	}
	from := min(asked.From, len(w.tokens))
	e := &inference.Explanation{
		Text: w.text, PromptTokens: len(w.tokens), Remembered: w.said, Rerendered: w.missed.String(),
		From: from, Tokens: l.pieces(w.tokens[from:min(from+asked.Limit, len(w.tokens))]),
		CachedTokens: seen.Reuse, KnownTokens: seen.Known, PrefixUsage: *l.prefixUsage(seen.Match),
		Warnings: warnings,
	}
	for _, s := range seen.Spans {
		e.Spans = append(e.Spans, inference.CachedSpan{From: s.From, To: s.To, Tier: s.Tier.String()})
	}
	if p := seen.Past; p != nil {
		e.Past = &inference.PastPrompt{
			PromptTokens: p.Length, SameTokens: p.Same,
			Was: l.pieces(p.Next), Is: l.pieces(w.tokens[p.Same:min(p.Same+differing, len(w.tokens))]),
		}
		l.place(e.Past, asked.Request, req, &w, plan)
	}
	return e, nil
}

func (l *LLM) look(ctx context.Context, q look) (seen kvcache.Inspection, err error) {
	select {
	case l.inbox <- command{look: &q}:
	case <-l.done:
		return seen, errStopped
	case <-ctx.Done():
		return seen, ctx.Err()
	}
	select {
	case seen = <-q.seen:
		return seen, nil
	case <-l.done:
		return seen, errStopped
	case <-ctx.Done():
		return seen, ctx.Err()
	}
}

func (l *LLM) pieces(tokens []engine.Token) []inference.TokenPiece {
	all := make([]inference.TokenPiece, len(tokens))
	for i, t := range tokens {
		all[i] = inference.TokenPiece{ID: t, Piece: []byte(l.vocabulary.Piece(t, true))}
	}
	return all
}
