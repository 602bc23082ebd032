package ollama

import (
	"context"
	"math"
	"net/http"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// embedding is the body of both routes.
type embedding struct {
	model      string
	inputs     []inference.Prompt
	dimensions int
	caller     inference.Caller
	told       map[string]bool
}

// maxInputs is how many texts one request may hold.
const maxInputs = 2048

var embedShared = strict.Joined(front.CallerFields(func(r *embedding) *inference.Caller { return &r.caller }), strict.Fields[embedding]{
	"model":    strict.Text(func(r *embedding, s string) { r.model = s }),
	"truncate": strict.Only[embedding]("false", func(d *strict.Decoder, v strict.Value) bool { return strict.IsFalse(d, v) || strict.IsTrue(d, v) }), // nothing is cut: what is too long is an error
	"options":  func(d *strict.Decoder, _ *embedding, v strict.Value) error { return d.Skip(v) },
})

var embedFields = strict.Joined(embedShared, strict.Fields[embedding]{
	"input":      setInput,
	"dimensions": strict.Integer(1, math.MaxInt32, func(r *embedding, n int64) { r.dimensions = int(n) }),
})

var embedOneFields = strict.Joined(embedShared, strict.Fields[embedding]{
	"prompt": strict.Text(func(r *embedding, s string) { r.inputs = []inference.Prompt{{Text: s}} }),
})

func setInput(d *strict.Decoder, r *embedding, v strict.Value) error {
	if v.Kind == strict.KindString {
		text, err := d.Text(v)
		r.inputs = []inference.Prompt{{Text: text}}
		return err
	}
	r.inputs = []inference.Prompt{}
	return d.List(v, func(v strict.Value) error {
		if len(r.inputs) == maxInputs {
			return d.Invalid("at most %d inputs are allowed", maxInputs)
		}
		text, err := d.Text(v)
		r.inputs = append(r.inputs, inference.Prompt{Text: text})
		return err
	})
}

// vectors asks for them and hands them on with how many tokens were read.
func vectors(x *front.Exchange, r *http.Request, known strict.Fields[embedding], input string, send func(*embedding, *inference.Embeddings) error) error {
	var req embedding
	err := front.ReadInto(x, r, known, &req, func(d *strict.Decoder, r *embedding) error {
		switch r.told = d.Present(); {
		case r.model == "":
			return d.Missing("model")
		case r.inputs == nil:
			return d.Missing(input)
		}
		return nil
	})
	if err == nil {
		var warnings []string
		warnings, err = front.AddHeaders(&req.caller, req.told, r.Header)
		x.Warn(warnings...)
	}
	if err != nil {
		return err
	}
	l, err := find(x, req.model)
	if err != nil {
		return err
	}
	return x.Work(r, l, req.caller, func(ctx context.Context, m inference.Model, c inference.Caller) (int, error) {
		e, ok := m.(inference.Embedder)
		if !ok || e.Embedding() == nil {
			return 0, inference.Errorf(inference.CodeUnsupported, "the model %s writes text and makes no vectors; ask a model for embeddings", l.Name)
		}
		made := &inference.Embeddings{}
		if len(req.inputs) > 0 {
			if made, err = e.Embed(ctx, &inference.EmbedRequest{ID: x.ID(), Inputs: req.inputs, Dimensions: req.dimensions, Caller: c}); err != nil {
				return 0, err
			}
		}
		return made.PromptTokens, send(&req, made)
	})
}

// embed answers POST /api/embed.
func embed(x *front.Exchange, r *http.Request) error {
	return vectors(x, r, embedFields, "input", func(req *embedding, made *inference.Embeddings) error {
		if made.Vectors == nil {
			made.Vectors = [][]float32{}
		}
		return x.JSON(http.StatusOK, map[string]any{
			"model": req.model, "embeddings": made.Vectors, "total_duration": int64(time.Since(x.Start())), "load_duration": 0, "prompt_eval_count": made.PromptTokens,
		})
	})
}

// embedOne answers POST /api/embeddings.
func embedOne(x *front.Exchange, r *http.Request) error {
	return vectors(x, r, embedOneFields, "prompt", func(_ *embedding, made *inference.Embeddings) error {
		vector := []float32{}
		if len(made.Vectors) > 0 {
			vector = made.Vectors[0]
		}
		return x.JSON(http.StatusOK, map[string]any{"embedding": vector})
	})
}
