package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dure/inference"
)

// The prompts of a text completion, which may be many: each is known by its
// path in the body, and none may cost the others their answers.

// settle returns the prompts as the model is given them, after checks that do
// not wait for a prompt's turn: by then answers to others may be whole, and
// would be lost. Where there are several, their texts become tokens, so that
// none is tokenised twice. A model whose tokens are not at hand checks by
// itself, and so does any model a text that is alone.
func (r *request) settle(ctx context.Context, model inference.Model) ([]inference.Prompt, error) {
	tokenizer, ok := model.(inference.Tokenizer)
	if !ok {
		return r.prompts, nil
	}
	info := model.Info()
	settled := slices.Clone(r.prompts)
	for i := range settled {
		p := &settled[i]
		if p.Tokens == nil {
			if len(settled) == 1 {
				break
			}
			ids, err := tokenizer.Tokenize(ctx, p.Text, true)
			if err != nil {
				return nil, fmt.Errorf("tokenize %s: %w", r.promptPath(i), err)
			}
			*p = inference.Prompt{Tokens: append([]int32{}, ids...)}
		}
		if err := checkPrompt(r.promptPath(i), p.Tokens, info); err != nil {
			return nil, err
		}
	}
	return settled, nil
}

// checkPrompt checks what a model checks when it takes a prompt. What info does
// not tell is left to the model.
func checkPrompt(path string, tokens []int32, info inference.Info) error {
	fail := func(code inference.Code, param, format string, args ...any) *inference.Error {
		e := inference.Errorf(code, param+": "+format, args...)
		e.Param = param
		return e
	}
	switch {
	case len(tokens) == 0:
		return fail(inference.CodeInvalidRequest, path, "the prompt is empty; it needs at least one token")
	case info.Context > 0 && len(tokens) >= info.Context:
		e := fail(inference.CodeContextExceeded, path,
			"the prompt has %d tokens, the context holds %d and the answer needs at least one", len(tokens), info.Context)
		e.PromptTokens, e.ContextTokens = len(tokens), info.Context
		return e
	}
	for i, id := range tokens {
		if info.Vocabulary > 0 && int(id) >= info.Vocabulary {
			return fail(inference.CodeInvalidRequest, fmt.Sprintf("%s[%d]", path, i),
				"token %d is not in the vocabulary, which has %d tokens", id, info.Vocabulary)
		}
	}
	return nil
}

// promptPath is where a prompt stands in the body.
func (r *request) promptPath(i int) string {
	if !r.listed {
		return "prompt"
	}
	return fmt.Sprintf("prompt[%d]", i)
}

// blame turns the path in the error of a model, which knows one prompt only,
// into the path in the body. What is wrong with a parameter is wrong for all
// prompts and stays as it is.
func (r *request) blame(prompt int, err error) error {
	var e *inference.Error
	if !r.listed || !errors.As(err, &e) {
		return err
	}
	inside, ok := strings.CutPrefix(e.Param, "prompt")
	ok = ok && (inside == "" || inside[0] == '[')
	switch {
	case e.Code == inference.CodeContextExceeded && e.Param == "":
	case ok && (e.Code == inference.CodeContextExceeded || e.Code == inference.CodeInvalidRequest):
	default:
		return err
	}
	named := *e
	named.Param = r.promptPath(prompt) + inside
	named.Message = named.Param + ": " + e.Error()
	return &named
}

// echoes are the texts of the prompts, where the answer is to begin with them.
func (r *request) echoes(ctx context.Context, name string, model inference.Model) ([]string, error) {
	if !r.echo {
		return nil, nil
	}
	texts := make([]string, len(r.prompts))
	for i, p := range r.prompts {
		if p.Tokens == nil {
			texts[i] = p.Text
			continue
		}
		tokenizer, ok := model.(inference.Tokenizer)
		if !ok {
			return nil, noTokenizer(name, "echo", "send the prompt as text, or leave echo out")
		}
		pieces, err := tokenizer.Detokenize(ctx, p.Tokens)
		if err != nil {
			return nil, fmt.Errorf("detokenize %s: %w", r.promptPath(i), err)
		}
		texts[i] = strings.ToValidUTF8(string(bytes.Join(pieces, nil)), "\ufffd")
	}
	return texts, nil
}
