package llm

import (
	"context"

	"dure/inference"
	"dure/inference/engine"
)

// PromptOf is the prompt that a request would have now.
func (l *LLM) PromptOf(ctx context.Context, req *inference.Request) ([]engine.Token, error) {
	w, err := l.prompt(ctx, req, l.plan(req.Reasoning, l.info.Context))
	l.recalled(&w)
	return w.tokens, err
}

// Apart is apart.
func (l *LLM) Apart(text string, tokens []engine.Token) bool { return l.apart(text, tokens) }
