package openai

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"dure/inference"
)

// The routes that show what a model reads, in llama-server's shapes.

// tokenizeRequest is the body of POST /v1/tokenize.
type tokenizeRequest struct {
	model             string
	text              string
	special, parse    bool
	withPieces        bool
	hasText, hasParse bool
}

var tokenizeFields = fields[tokenizeRequest]{
	"model":         text(func(r *tokenizeRequest, s string) { r.model = s }),
	"content":       (*decoder).setContent,
	"text":          (*decoder).setContent,
	"prompt":        (*decoder).setContent,
	"add_special":   boolean(func(r *tokenizeRequest, b bool) { r.special = b }),
	"parse_special": boolean(func(r *tokenizeRequest, b bool) { r.parse, r.hasParse = b, true }),
	"with_pieces":   boolean(func(r *tokenizeRequest, b bool) { r.withPieces = b }),
}

func (d *decoder) setContent(r *tokenizeRequest, t token) (err error) {
	if r.hasText {
		return d.invalid("content, text and prompt mean the same; send one of them")
	}
	r.hasText = true
	r.text, err = d.text(t)
	return err
}

func (d *decoder) checkTokenize(r *tokenizeRequest) error {
	switch {
	case !r.hasText:
		return d.missing("content")
	case r.hasParse && r.parse != r.special:
		return d.at("parse_special").unsupported("not supported apart from add_special; leave it out or set it to %t", r.special)
	}
	return nil
}

type tokenList struct {
	Tokens   []int32  `json:"tokens"`
	Warnings []string `json:"warnings,omitempty"`
}

type pieceList struct {
	Tokens   []tokenPiece `json:"tokens"`
	Warnings []string     `json:"warnings,omitempty"`
}

// tokenPiece is a token with its text or, where that is no whole text, the list
// of its bytes.
type tokenPiece struct {
	ID    int32 `json:"id"`
	Piece any   `json:"piece"`
}

// tokenize answers POST /v1/tokenize.
func (h *handler) tokenize(x *exchange, r *http.Request) error {
	var req tokenizeRequest
	warnings, err := readInto(x, r, tokenizeFields, &req, (*decoder).checkTokenize)
	if err != nil {
		return err
	}
	return h.withTokenizer(x, r, req.model, func(ctx context.Context, t inference.Tokenizer) error {
		ids, err := t.Tokenize(ctx, req.text, req.special)
		if err != nil {
			return fmt.Errorf("tokenize: %w", err)
		}
		if !req.withPieces {
			return x.json(http.StatusOK, tokenList{append([]int32{}, ids...), warnings})
		}
		texts, err := t.Detokenize(ctx, ids)
		if err != nil {
			return fmt.Errorf("detokenize: %w", err)
		}
		if len(texts) != len(ids) {
			return fmt.Errorf("detokenize: %d texts for %d tokens", len(texts), len(ids))
		}
		list := pieceList{make([]tokenPiece, len(ids)), warnings}
		for i, id := range ids {
			list.Tokens[i] = newPiece(id, texts[i])
		}
		return x.json(http.StatusOK, list)
	})
}

func newPiece(id int32, text []byte) tokenPiece {
	if utf8.Valid(text) {
		return tokenPiece{id, string(text)}
	}
	numbers := make([]int, len(text)) // a []byte would be written in base64
	for i, b := range text {
		numbers[i] = int(b)
	}
	return tokenPiece{id, numbers}
}

// detokenizeRequest is the body of POST /v1/detokenize.
type detokenizeRequest struct {
	model  string
	tokens []int32
}

var detokenizeFields = fields[detokenizeRequest]{
	"model": text(func(r *detokenizeRequest, s string) { r.model = s }),
	"tokens": func(d *decoder, r *detokenizeRequest, t token) (err error) {
		r.tokens, err = d.tokenIDs(t)
		return err
	},
}

func (d *decoder) checkDetokenize(r *detokenizeRequest) error {
	if r.tokens == nil {
		return d.missing("tokens")
	}
	return nil
}

type contentBody struct {
	Content  string   `json:"content"`
	Warnings []string `json:"warnings,omitempty"`
}

// detokenize answers POST /v1/detokenize.
func (h *handler) detokenize(x *exchange, r *http.Request) error {
	var req detokenizeRequest
	warnings, err := readInto(x, r, detokenizeFields, &req, (*decoder).checkDetokenize)
	if err != nil {
		return err
	}
	return h.withTokenizer(x, r, req.model, func(ctx context.Context, t inference.Tokenizer) error {
		texts, err := t.Detokenize(ctx, req.tokens)
		if err != nil {
			return fmt.Errorf("detokenize: %w", err)
		}
		all := string(bytes.Join(texts, nil))
		content := strings.ToValidUTF8(all, "\ufffd")
		if content != all {
			warnings = append(warnings, "content: holds bytes that are no characters, shown as U+FFFD")
		}
		return x.json(http.StatusOK, contentBody{content, warnings})
	})
}

// renderRequest is the body of POST /v1/apply-template.
type renderRequest struct {
	model    string
	messages []inference.Message
	closed   bool
}

var renderFields = joined(refusedFields[renderRequest](), fields[renderRequest]{
	"model": text(func(r *renderRequest, s string) { r.model = s }),
	"messages": func(d *decoder, r *renderRequest, t token) (err error) {
		r.messages, err = d.messages(t)
		return err
	},
	"add_generation_prompt": boolean(func(r *renderRequest, b bool) { r.closed = !b }),
	"tools":                 only[renderRequest]("[]", (*decoder).isEmpty),
})

func (d *decoder) checkRender(r *renderRequest) error {
	if r.messages == nil {
		return d.missing("messages")
	}
	return nil
}

type promptBody struct {
	Prompt   string   `json:"prompt"`
	Warnings []string `json:"warnings,omitempty"`
}

// applyTemplate answers POST /v1/apply-template.
func (h *handler) applyTemplate(x *exchange, r *http.Request) error {
	var req renderRequest
	warnings, err := readInto(x, r, renderFields, &req, (*decoder).checkRender)
	if err != nil {
		return err
	}
	return h.withTokenizer(x, r, req.model, func(ctx context.Context, t inference.Tokenizer) error {
		prompt, err := t.Render(ctx, req.messages, !req.closed)
		if err != nil {
			return fmt.Errorf("render messages: %w", err)
		}
		if m, ok := t.(inference.Model); ok && m.Info().ChatWarning != "" {
			warnings = append(warnings, "messages: "+m.Info().ChatWarning)
		}
		return x.json(http.StatusOK, promptBody{prompt, warnings})
	})
}

// readInto reads a request's body into req.
func readInto[R any](x *exchange, r *http.Request, known fields[R], req *R, check func(*decoder, *R) error) ([]string, error) {
	body, err := readBody(x, r)
	if err != nil {
		return nil, err
	}
	return decode(body, known, req, check)
}

// withTokenizer opens a model, which may have to be loaded first, and calls use
// with its tokenizer.
func (h *handler) withTokenizer(x *exchange, r *http.Request, name string, use func(context.Context, inference.Tokenizer) error) error {
	listing, err := h.find(x, name)
	if err != nil {
		return err
	}
	model, release, err := h.open(r.Context(), listing.Name, 0)
	if err != nil {
		return err
	}
	defer release()
	tokenizer, ok := model.(inference.Tokenizer)
	if !ok {
		return noTokenizer(listing.Name, "model", "ask for a model that runs here")
	}
	return use(r.Context(), tokenizer)
}
