package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"net/http"
	"strings"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// maxInputs is how many inputs or documents one request may hold, as at OpenAI.
const maxInputs = 2048

// embeddingRequest is the body of POST /v1/embeddings.
type embeddingRequest struct {
	model      string
	inputs     []inference.Prompt
	listed     bool // the inputs stand in a list of them
	base64     bool
	dimensions int
	caller     inference.Caller
	present    map[string]bool
}

var embeddingFields = strict.Joined(
	front.CallerFields(func(r *embeddingRequest) *inference.Caller { return &r.caller }), strict.Fields[embeddingRequest]{
		"model": strict.Text(func(r *embeddingRequest, s string) { r.model = s }),
		"input": setInput,
		"encoding_format": func(d *strict.Decoder, r *embeddingRequest, v strict.Value) error {
			word, err := d.OneOf(v, []string{"float", "base64"})
			r.base64 = word == "base64"
			return err
		},
		"dimensions": strict.Integer(1, math.MaxInt32, func(r *embeddingRequest, i int64) { r.dimensions = int(i) }),
		"user":       strict.Text(func(*embeddingRequest, string) {}), // a label
		// Other servers' names, for what is done anyway or never.
		"normalize":              strict.Only[embeddingRequest]("true", strict.IsTrue),
		"embd_normalize":         strict.Only[embeddingRequest]("2", strict.IsNumber(2)),
		"truncate":               strict.Only[embeddingRequest]("false", uncut),
		"truncate_prompt_tokens": strict.Only[embeddingRequest]("null", strict.Never),
		"input_type":             strict.Only[embeddingRequest]("null", strict.Never),
	})

// uncut is false, or Cohere's word for it.
func uncut(d *strict.Decoder, v strict.Value) bool {
	return strict.IsFalse(d, v) || strict.IsText("NONE")(d, v)
}

func checkEmbedding(d *strict.Decoder, r *embeddingRequest) error {
	if r.present = d.Present(); r.inputs == nil {
		return d.Missing("input")
	}
	return nil
}

// setInput reads a text, a list of texts, a list of tokens or a list of such lists.
func setInput(d *strict.Decoder, r *embeddingRequest, v strict.Value) error {
	switch v.Kind {
	case strict.KindString:
		text, err := inputText(d, v)
		r.inputs = []inference.Prompt{{Text: text}}
		return err
	case strict.KindList:
	default:
		return d.Expected("a string, a list of strings, or tokens", v)
	}
	first := d.Next()
	if first == strict.KindNumber {
		ids, err := d.TokenIDs(v)
		r.inputs = []inference.Prompt{{Tokens: ids}}
		return err
	}
	r.listed = true
	err := d.List(v, func(v strict.Value) (err error) {
		var p inference.Prompt
		switch {
		case len(r.inputs) == maxInputs:
			return d.Invalid("at most %d inputs are allowed", maxInputs)
		case first == strict.KindString:
			p.Text, err = inputText(d, v)
		case first == strict.KindList && v.Kind == strict.KindList:
			p.Tokens, err = d.TokenIDs(v)
		default:
			err = d.Expected("a list of strings, of tokens, or of lists of tokens", v)
		}
		r.inputs = append(r.inputs, p)
		return err
	})
	if err == nil && len(r.inputs) == 0 {
		err = d.Invalid("must hold at least one input")
	}
	return err
}

// inputText refuses a text without any: what the model wants around a text would get a
// vector, and most likely nobody wants that one.
func inputText(d *strict.Decoder, v strict.Value) (string, error) {
	text, err := d.Text(v)
	if err == nil && text == "" {
		err = d.Invalid("is empty")
	}
	return text, err
}

type embeddingList struct {
	Object   string         `json:"object"`
	Data     []embedding    `json:"data"`
	Model    string         `json:"model"`
	Usage    embeddingUsage `json:"usage"`
	Warnings []string       `json:"warnings,omitempty"`
}

type embedding struct {
	Object string `json:"object"`
	Index  int    `json:"index"`
	// Embedding is a list of numbers, or their bytes in base64.
	Embedding any `json:"embedding"`
}

type embeddingUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// embeddings answers POST /v1/embeddings.
func embeddings(x *front.Exchange, r *http.Request) error {
	var req embeddingRequest
	if err := front.ReadInto(x, r, embeddingFields, &req, checkEmbedding); err != nil {
		return err
	}
	listing, err := askedBy(x, r, req.model, &req.caller, req.present)
	if err != nil {
		return err
	}
	var out *inference.Embeddings
	err = x.Work(r, listing, req.caller, func(ctx context.Context, m inference.Model, c inference.Caller) (int, error) {
		e, ok := m.(inference.Embedder)
		if !ok {
			return 0, noEmbedder(listing.Name)
		}
		out, err = e.Embed(ctx, &inference.EmbedRequest{ID: x.ID(), Inputs: req.inputs, Dimensions: req.dimensions, Caller: c})
		if err != nil {
			return 0, req.blame(err)
		}
		return out.PromptTokens, nil
	})
	if err != nil {
		return err
	}
	list := embeddingList{Object: "list", Model: listing.Name, Usage: embeddingUsage{out.PromptTokens, out.PromptTokens}, Warnings: x.Warnings()}
	for i, v := range out.Vectors {
		e := embedding{"embedding", i, v}
		if req.base64 {
			e.Embedding = packed(v)
		}
		list.Data = append(list.Data, e)
	}
	return x.JSON(http.StatusOK, list)
}

// packed is a vector as OpenAI's clients take it: F32, little-endian, in base64.
func packed(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// blame turns the path of an input in the error of a model into the one in the body.
func (r *embeddingRequest) blame(err error) error {
	var e *inference.Error
	if !errors.As(err, &e) {
		return err
	}
	inside, first := strings.CutPrefix(e.Param, "input[0]")
	if first && !r.listed {
		named := *e
		named.Param = "input" + inside
		return blamed(&named)
	}
	return blamed(e)
}

// askedBy finds the model of a route that does not generate, and adds what headers tell
// of the caller.
func askedBy(x *front.Exchange, r *http.Request, model string, c *inference.Caller, told map[string]bool) (front.Listing, error) {
	warnings, err := front.AddHeaders(c, told, r.Header)
	if err != nil {
		return front.Listing{}, err
	}
	x.Warn(warnings...)
	if c.PinPrefix {
		x.Warn("pin_prefix: there is nothing to keep of this, ignored")
	}
	return x.Find(model)
}

func noEmbedder(name string) error {
	err := inference.Errorf(inference.CodeUnsupported, "model: %s runs elsewhere and is asked for text only; ask for a model with the role embedding that runs here", name)
	err.Param = "model"
	return err
}
