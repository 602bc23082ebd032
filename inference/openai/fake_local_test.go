package openai

import (
	"context"

	"dure/inference"
)

// fakeLocal is a model whose tokens are bytes, from 0 to 255, and 256, which is
// special and spelled "<s>".
type fakeLocal struct {
	inference.Model
	bare bool
	err  error
}

func (f fakeLocal) Tokenize(_ context.Context, text string, special bool) ([]int32, error) {
	if f.err != nil {
		return nil, f.err
	}
	var ids []int32
	if special && !f.bare {
		ids = append(ids, 256)
	}
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

func (fakeLocal) Detokenize(_ context.Context, tokens []int32) ([][]byte, error) {
	var texts [][]byte
	for _, id := range tokens {
		switch {
		case id == 256:
			texts = append(texts, []byte("<s>"))
		case id < 256:
			texts = append(texts, []byte{byte(id)})
		default:
			e := inference.Errorf(inference.CodeInvalidRequest, "there is no token %d", id)
			e.Param = "tokens"
			return nil, e
		}
	}
	return texts, nil
}

func (fakeLocal) Render(_ context.Context, messages []inference.Message, open bool) (string, error) {
	prompt := ""
	for _, m := range messages {
		prompt += "[" + m.Role + "]" + m.Content
	}
	if open {
		prompt += "[assistant]"
	}
	return prompt, nil
}
