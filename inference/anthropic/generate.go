package anthropic

import (
	"context"
	"net/http"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// read reads a request and finds its model.
func read(x *front.Exchange, r *http.Request, fields strict.Fields[request], check func(*strict.Decoder, *request) error) (*request, front.Listing, error) {
	var req request
	if err := front.ReadInto(x, r, fields, &req, check); err != nil {
		return nil, front.Listing{}, err
	}
	warnings, err := front.AddHeaders(&req.caller, req.told, r.Header)
	if err != nil {
		return nil, front.Listing{}, err
	}
	x.Warn(warnings...)
	listing, err := x.Find(req.model)
	return &req, listing, err
}

// messages answers POST /v1/messages.
func messages(x *front.Exchange, r *http.Request) error {
	req, listing, err := read(x, r, known, checkMessages)
	if err != nil {
		return err
	}
	x.Header().Set("Request-Id", x.ID())
	m := &message{x: x, model: listing.Name, hidden: req.thinking.hidden}
	g := front.Generation{
		Model: listing, Caller: req.caller, Requests: []*inference.Request{req.ask(listing.Params)}, Answer: &whole{message: m},
	}
	if req.stream {
		g.Answer = &stream{message: m}
		g.Stream = front.EventStream(func(dst []byte, f *front.Failure) ([]byte, error) {
			return front.AppendNamedEvent(dst, "error", wireFailure(x.ID(), f))
		})
		g.Stream.Silence = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	}
	return x.Generate(r, g)
}

// countTokens answers POST /v1/messages/count_tokens: of the prompt as the model
// would read it. None is computed, so that none is counted to the key.
func countTokens(x *front.Exchange, r *http.Request) error {
	req, listing, err := read(x, r, known, checkCount)
	if err != nil {
		return err
	}
	return x.Work(r, listing, req.caller, func(ctx context.Context, m inference.Model, _ inference.Caller) (int, error) {
		tokenizer, ok := m.(inference.Tokenizer)
		if !ok {
			return 0, inference.Errorf(inference.CodeUnsupported, "the model %s runs elsewhere and its tokens are not at hand", listing.Name)
		}
		text, err := tokenizer.Render(ctx, req.ask(listing.Params), true)
		if err != nil {
			return 0, err
		}
		tokens, err := tokenizer.Tokenize(ctx, text, true)
		if err != nil {
			return 0, err
		}
		return 0, x.JSON(http.StatusOK, map[string]int{"input_tokens": len(tokens)})
	})
}
