package runner

import (
	"context"
	"encoding/json"
	"net/http"

	"dure/inference"
)

// text answers what a Client asks as inference.Tokenizer and inference.Explainer.
func (c *child) text(w http.ResponseWriter, r *http.Request) {
	var req textRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		writeError(w, inference.Errorf(inference.CodeInternal, "runner: decode request: %v", err))
		return
	}
	a, err := c.answerText(r.Context(), &req)
	if err != nil {
		writeError(w, typed(err))
		return
	}
	json.NewEncoder(w).Encode(a)
}

func (c *child) answerText(ctx context.Context, req *textRequest) (a textAnswer, err error) {
	switch req.Do {
	case taskTokenize:
		a.Tokens, err = c.served.Tokenize(ctx, req.Text, req.Special)
	case taskDetokenize:
		a.Pieces, err = c.served.Detokenize(ctx, req.Tokens)
	case taskRender:
		a.Text, err = c.served.Render(ctx, req.Request, req.Open)
	case taskExplain:
		if c.llm == nil {
			return a, noText(c.served.Info().Name)
		}
		a.Explanation, err = c.llm.Explain(ctx, req.Explain)
	default:
		err = inference.Errorf(inference.CodeInternal, "runner: unknown task %q", req.Do)
	}
	return a, err
}

// askText sends one textRequest to the child.
func (c *Client) askText(ctx context.Context, req textRequest) (a textAnswer, err error) {
	err = c.askOnce(ctx, pathText, req, &a)
	return a, err
}

// Tokenize implements inference.Tokenizer.
func (c *Client) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	a, err := c.askText(ctx, textRequest{Do: taskTokenize, Text: text, Special: special})
	return a.Tokens, err
}

// Detokenize implements inference.Tokenizer.
func (c *Client) Detokenize(ctx context.Context, tokens []int32) ([][]byte, error) {
	a, err := c.askText(ctx, textRequest{Do: taskDetokenize, Tokens: tokens})
	return a.Pieces, err
}

// Render implements inference.Tokenizer.
func (c *Client) Render(ctx context.Context, req *inference.Request, open bool) (string, error) {
	a, err := c.askText(ctx, textRequest{Do: taskRender, Request: req, Open: open})
	return a.Text, err
}

// Explain implements inference.Explainer.
func (c *Client) Explain(ctx context.Context, req *inference.ExplainRequest) (*inference.Explanation, error) {
	a, err := c.askText(ctx, textRequest{Do: taskExplain, Explain: req})
	if err == nil && a.Explanation == nil {
		err = inference.Errorf(inference.CodeInternal, "runner: no explanation")
	}
	return a.Explanation, err
}
