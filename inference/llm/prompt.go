package llm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dure/inference"
	"dure/inference/chat"
	"dure/inference/engine"
)

// prompt is what a request asks to continue, in tokens that fit the context.
func (l *LLM) prompt(ctx context.Context, req *inference.Request, p plan) (wording, error) {
	w, err := l.wording(ctx, req, p)
	switch {
	case err != nil:
		return wording{}, err
	case len(w.tokens) == 0:
		return wording{}, refuse(source(req), "the prompt is empty; it needs at least one token")
	case len(w.tokens) >= l.info.Context:
		return wording{}, l.exceeded(req, fmt.Sprint(len(w.tokens)), len(w.tokens))
	}
	return w, nil
}

func (l *LLM) wording(ctx context.Context, req *inference.Request, plan plan) (w wording, err error) {
	switch p := req.Prompt; {
	case p == nil && len(req.Messages) == 0:
		return w, refuse("messages", "messages is empty; send at least one message")
	case p == nil:
		return l.conversation(ctx, req, plan)
	case len(req.Messages) > 0:
		return w, refuse("prompt", "send either messages or a prompt, not both")
	case p.Tokens != nil:
		return wording{tokens: p.Tokens}, l.checkTokens("prompt", p.Tokens)
	default:
		w.text = p.Text
		w.tokens, err = l.encode(ctx, req, p.Text)
		return w, err
	}
}

// source is the field that a request's prompt comes from.
func source(req *inference.Request) string {
	if req.Prompt != nil {
		return "prompt"
	}
	return "messages"
}

func refuse(param, format string, args ...any) error {
	err := inference.Errorf(inference.CodeInvalidRequest, format, args...)
	err.Param = param
	return err
}

// encode returns the tokens of a prompt's text. What is far too long is refused
// by its bytes: counting its tokens takes seconds.
func (l *LLM) encode(ctx context.Context, req *inference.Request, text string) ([]engine.Token, error) {
	if least := l.model.MinTokens(len(text)); least >= l.info.Context {
		return nil, l.exceeded(req, fmt.Sprintf("at least %d", least), least)
	}
	return l.fence.tokens(text, func(part string, first bool) ([]engine.Token, error) {
		if first {
			return l.Tokenize(ctx, part, true)
		}
		return l.tokenize(ctx, part, false, true)
	})
}

// exceeded says what does not fit and which message is the largest, since that
// is the one to shorten. Nothing is ever cut.
func (l *LLM) exceeded(req *inference.Request, count string, prompt int) error {
	hint := ""
	if m := req.Messages; len(m) > 0 {
		largest, total := 0, 0
		for i := range m {
			total += len(m[i].Content)
			if len(m[i].Content) > len(m[largest].Content) {
				largest = i
			}
		}
		hint = fmt.Sprintf("; the largest message is messages[%d] (%s) with %d%% of the text",
			largest, m[largest].Role, 100*len(m[largest].Content)/max(total, 1))
	}
	err := inference.Errorf(inference.CodeContextExceeded,
		"the prompt has %s tokens, the context holds %d and the answer needs at least one%s", count, l.info.Context, hint)
	err.Param, err.PromptTokens, err.ContextTokens = source(req), prompt, l.info.Context
	return err
}

// checkTokens refuses ids that the vocabulary lacks: the engine would abort.
func (l *LLM) checkTokens(param string, tokens []int32) error {
	size := l.vocabulary.Size()
	for i, t := range tokens {
		if t < 0 || int(t) >= size {
			return refuse(fmt.Sprintf("%s[%d]", param, i), "token %d is not in the vocabulary, which has %d tokens", t, size)
		}
	}
	return nil
}

// Render implements inference.Tokenizer.
func (l *LLM) Render(_ context.Context, asked *inference.Request, open bool) (string, error) {
	req, _ := l.normalised(asked)
	p := l.plan(req.Reasoning, l.info.Context)
	o := l.renderOptions(req, p)
	o.AddGenerationPrompt = open
	messages, prefix := begun(req)
	text, err := l.template.Render(messages, o)
	if err != nil || !open {
		return text, err
	}
	opening, _ := l.opening(text, prefix, p)
	return text + opening, nil
}

func (l *LLM) renderOptions(req *inference.Request, p plan) chat.RenderOptions {
	return chat.RenderOptions{
		AddGenerationPrompt: true, Tools: req.Tools, Think: p.think, Effort: p.effort, BOS: l.bos, EOS: l.eos, Now: time.Now(),
	}
}

// The engine's tokeniser takes seconds and hundreds of megabytes for a text of
// several megabytes, and nothing can end it.
const (
	maxText   = 4 << 20  // bytes that are tokenised at all
	largeText = 64 << 10 // bytes from which on one text goes after the other
)

// Tokenize implements inference.Tokenizer. A template writes BOS itself where
// the model wants one; only when the text lacks it is it added.
func (l *LLM) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	addBOS := special && l.model.Facts().AddBOS && !strings.HasPrefix(text, l.bos)
	return l.tokenize(ctx, text, addBOS, special)
}

func (l *LLM) tokenize(ctx context.Context, text string, addBOS, special bool) ([]engine.Token, error) {
	if len(text) > maxText {
		return nil, refuse("", "the text has %d bytes, at most %d are tokenised at once", len(text), maxText)
	}
	if len(text) > largeText {
		select {
		case l.large <- struct{}{}:
			defer func() { <-l.large }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	tokens, err := l.model.Tokenize(ctx, text, addBOS, special)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, inference.Errorf(inference.CodeInternal, "tokenise: %v", err)
	}
	return tokens, nil
}

// Detokenize implements inference.Tokenizer.
func (l *LLM) Detokenize(_ context.Context, tokens []int32) ([][]byte, error) {
	if err := l.checkTokens("tokens", tokens); err != nil {
		return nil, err
	}
	pieces := make([][]byte, len(tokens))
	for i, t := range tokens {
		pieces[i] = []byte(l.vocabulary.Piece(t, true))
	}
	return pieces, nil
}
