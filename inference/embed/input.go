package embed

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dure/inference"
	"dure/inference/engine"
)

// A text of several megabytes keeps the engine's tokeniser busy for seconds, and
// nothing can end it.
const (
	maxText   = 4 << 20  // bytes that are tokenised at all
	largeText = 64 << 10 // bytes from which on one text goes after the other
)

// inputs makes tokens of all inputs and checks them.
func (e *Embedder) inputs(ctx context.Context, all []inference.Prompt) ([][]engine.Token, error) {
	out := make([][]engine.Token, len(all))
	for i, p := range all {
		param := fmt.Sprintf("input[%d]", i)
		tokens := p.Tokens
		if tokens == nil {
			var err error
			if tokens, err = e.tokenize(ctx, param, p.Text, true, false); err != nil {
				return nil, err
			}
		} else if err := e.checkTokens(param, tokens); err != nil {
			return nil, err
		}
		if err := e.checkLength(param, len(tokens)); err != nil {
			return nil, err
		}
		out[i] = tokens
	}
	return out, nil
}

func (e *Embedder) checkLength(param string, n int) error {
	switch {
	case n == 0:
		return refuse(inference.CodeInvalidRequest, param, "it has no tokens")
	case n > e.info.Context:
		err := refuse(inference.CodeContextExceeded, param, "it has %d tokens, model %s reads %d at most%s; cut it into several", n, e.cfg.Name, e.info.Context, e.limit())
		err.PromptTokens, err.ContextTokens = n, e.info.Context
		return err
	}
	return nil
}

// limit says where the limit of an input comes from.
func (e *Embedder) limit() string {
	if e.info.Context == e.info.TrainContext {
		return ", as it was trained (no --context changes that)"
	}
	return ""
}

func (e *Embedder) checkTokens(param string, tokens []int32) error {
	size := e.model.Facts().Vocabulary
	for i, t := range tokens {
		if t < 0 || int(t) >= size {
			return refuse(inference.CodeInvalidRequest, fmt.Sprintf("%s[%d]", param, i), "token %d is not in the vocabulary, which has %d tokens", t, size)
		}
	}
	return nil
}

// tokenize makes tokens of a text. around adds what the model wants around it;
// control reads the text of control tokens as those tokens.
func (e *Embedder) tokenize(ctx context.Context, param, text string, around, control bool) ([]engine.Token, error) {
	if len(text) > maxText {
		return nil, refuse(inference.CodeInvalidRequest, param, "the text has %d bytes, at most %d are tokenised at once", len(text), maxText)
	}
	if len(text) > largeText {
		select {
		case e.large <- struct{}{}:
			defer func() { <-e.large }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	tokens, err := e.model.Tokenize(ctx, text, around, control)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, inference.Errorf(inference.CodeInternal, "tokenise: %v", err)
	}
	return tokens, nil
}

// Tokenize returns the tokens of a text, with special as an input has them.
func (e *Embedder) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	return e.tokenize(ctx, "", text, special, false)
}

// Detokenize returns the bytes of each token, special ones included.
func (e *Embedder) Detokenize(_ context.Context, tokens []int32) ([][]byte, error) {
	if err := e.checkTokens("tokens", tokens); err != nil {
		return nil, err
	}
	pieces := make([][]byte, len(tokens))
	for i, t := range tokens {
		pieces[i] = []byte(e.model.Vocabulary().Piece(t, true))
	}
	return pieces, nil
}

// Render refuses: there is no conversation with such a model.
func (e *Embedder) Render(context.Context, *inference.Request, bool) (string, error) {
	return "", refuse(inference.CodeUnsupported, "model", "model %s makes vectors or scores and has no chat template", e.cfg.Name)
}

// unit brings a vector to length 1, in place. The sum is kept in double precision.
func unit(v []float32) ([]float32, error) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return nil, errors.New("its vector has no length")
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return v, nil
}
