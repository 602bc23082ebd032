package openai

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
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

var tokenizeFields = strict.Fields[tokenizeRequest]{
	"model":         strict.Text(func(r *tokenizeRequest, s string) { r.model = s }),
	"content":       setContent,
	"text":          setContent,
	"prompt":        setContent,
	"add_special":   strict.Boolean(func(r *tokenizeRequest, b bool) { r.special = b }),
	"parse_special": strict.Boolean(func(r *tokenizeRequest, b bool) { r.parse, r.hasParse = b, true }),
	"with_pieces":   strict.Boolean(func(r *tokenizeRequest, b bool) { r.withPieces = b }),
}

func setContent(d *strict.Decoder, r *tokenizeRequest, v strict.Value) (err error) {
	if r.hasText {
		return d.Invalid("content, text and prompt mean the same; send one of them")
	}
	r.hasText = true
	r.text, err = d.Text(v)
	return err
}

func checkTokenize(d *strict.Decoder, r *tokenizeRequest) error {
	switch {
	case !r.hasText:
		return d.Missing("content")
	case r.hasParse && r.parse != r.special:
		return d.At("parse_special").Unsupported("not supported apart from add_special; leave it out or set it to %t", r.special)
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
func tokenize(x *front.Exchange, r *http.Request) error {
	var req tokenizeRequest
	err := front.ReadInto(x, r, tokenizeFields, &req, checkTokenize)
	if err != nil {
		return err
	}
	return withTokenizer(x, r, req.model, func(ctx context.Context, t inference.Tokenizer) error {
		ids, err := t.Tokenize(ctx, req.text, req.special)
		if err != nil {
			return fmt.Errorf("tokenize: %w", err)
		}
		if !req.withPieces {
			return x.JSON(http.StatusOK, tokenList{append([]int32{}, ids...), x.Warnings()})
		}
		texts, err := t.Detokenize(ctx, ids)
		if err != nil {
			return fmt.Errorf("detokenize: %w", err)
		}
		if len(texts) != len(ids) {
			return fmt.Errorf("detokenize: %d texts for %d tokens", len(texts), len(ids))
		}
		list := pieceList{make([]tokenPiece, len(ids)), x.Warnings()}
		for i, id := range ids {
			list.Tokens[i] = newPiece(id, texts[i])
		}
		return x.JSON(http.StatusOK, list)
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

var detokenizeFields = strict.Fields[detokenizeRequest]{
	"model": strict.Text(func(r *detokenizeRequest, s string) { r.model = s }),
	"tokens": func(d *strict.Decoder, r *detokenizeRequest, v strict.Value) (err error) {
		r.tokens, err = d.TokenIDs(v)
		return err
	},
}

func checkDetokenize(d *strict.Decoder, r *detokenizeRequest) error {
	if r.tokens == nil {
		return d.Missing("tokens")
	}
	return nil
}

type contentBody struct {
	Content  string   `json:"content"`
	Warnings []string `json:"warnings,omitempty"`
}

// detokenize answers POST /v1/detokenize.
func detokenize(x *front.Exchange, r *http.Request) error {
	var req detokenizeRequest
	err := front.ReadInto(x, r, detokenizeFields, &req, checkDetokenize)
	if err != nil {
		return err
	}
	return withTokenizer(x, r, req.model, func(ctx context.Context, t inference.Tokenizer) error {
		texts, err := t.Detokenize(ctx, req.tokens)
		if err != nil {
			return fmt.Errorf("detokenize: %w", err)
		}
		all := string(bytes.Join(texts, nil))
		content := strings.ToValidUTF8(all, "\ufffd")
		if content != all {
			x.Warn("content: holds bytes that are no characters, shown as U+FFFD")
		}
		return x.JSON(http.StatusOK, contentBody{content, x.Warnings()})
	})
}

// renderRequest is the body of POST /v1/apply-template.
type renderRequest struct {
	model    string
	messages []inference.Message
	closed   bool
}

var renderFields = strict.Joined(refusedFields[renderRequest](), strict.Fields[renderRequest]{
	"model": strict.Text(func(r *renderRequest, s string) { r.model = s }),
	"messages": func(d *strict.Decoder, r *renderRequest, v strict.Value) (err error) {
		r.messages, err = messages(d, v)
		return err
	},
	"add_generation_prompt": strict.Boolean(func(r *renderRequest, b bool) { r.closed = !b }),
	"tools":                 strict.Only[renderRequest]("[]", (*strict.Decoder).IsEmpty),
})

func checkRender(d *strict.Decoder, r *renderRequest) error {
	if r.messages == nil {
		return d.Missing("messages")
	}
	return nil
}

type promptBody struct {
	Prompt   string   `json:"prompt"`
	Warnings []string `json:"warnings,omitempty"`
}

// applyTemplate answers POST /v1/apply-template.
func applyTemplate(x *front.Exchange, r *http.Request) error {
	var req renderRequest
	err := front.ReadInto(x, r, renderFields, &req, checkRender)
	if err != nil {
		return err
	}
	return withTokenizer(x, r, req.model, func(ctx context.Context, t inference.Tokenizer) error {
		prompt, err := t.Render(ctx, &inference.Request{Messages: req.messages}, !req.closed)
		if err != nil {
			return fmt.Errorf("render messages: %w", err)
		}
		if m, ok := t.(inference.Model); ok && m.Info().ChatWarning != "" {
			x.Warn("messages: " + m.Info().ChatWarning)
		}
		return x.JSON(http.StatusOK, promptBody{prompt, x.Warnings()})
	})
}

// withTokenizer opens a model, which may have to be loaded first, and calls use
// with its tokenizer.
func withTokenizer(x *front.Exchange, r *http.Request, name string, use func(context.Context, inference.Tokenizer) error) error {
	listing, err := x.Find(name)
	if err != nil {
		return err
	}
	model, release, err := x.Open(r.Context(), listing, 0)
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
