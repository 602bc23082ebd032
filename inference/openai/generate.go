package openai

import (
	"context"
	"net/http"

	"dure/inference"
	"dure/inference/front"
)

// chat answers POST /v1/chat/completions.
func chat(x *front.Exchange, r *http.Request) error {
	return complete(x, r, decodeChat, chatShape{})
}

// textCompletion answers POST /v1/completions.
func textCompletion(x *front.Exchange, r *http.Request) error {
	return complete(x, r, decodeText, textShape{})
}

// complete answers a request of either route that generates.
func complete(x *front.Exchange, r *http.Request, decode func([]byte) (*request, error), s shape) error {
	body, err := x.ReadBody(r)
	if err != nil {
		return err
	}
	req, err := decode(body)
	if err == nil {
		err = req.addHeaders(r.Header)
	}
	if err != nil {
		return err
	}
	listing, err := x.Find(req.model)
	if err != nil {
		return err
	}
	x.Warn(req.warnings...)
	asks := req.requests(req.params(listing.Params))
	encoder := newEncoder(x, s, req, listing.Name, asks[0].Params.Seed)
	g := front.Generation{
		Model: listing, Caller: req.caller, Requests: asks, Each: req.n,
		Prepare: func(ctx context.Context, model inference.Model) error {
			return prepare(ctx, model, req, listing.Name, encoder)
		},
		Blame:  func(index int, err error) error { return req.wishes.blame(req.blame(index/req.n, err)) },
		Answer: &whole{encoder: encoder},
	}
	if req.stream {
		out := &stream{encoder: encoder, usage: req.includeUsage}
		g.Answer, g.Stream = out, front.EventStream(appendFailure)
	}
	return x.Generate(r, g)
}

// prepare settles the prompts, which the requests point to, and what is to be
// echoed of them as it was sent.
func prepare(ctx context.Context, model inference.Model, req *request, name string, e *encoder) error {
	settled, err := req.settle(ctx, model)
	if err != nil {
		return err
	}
	echoes, err := req.echoes(ctx, name, model)
	if err != nil {
		return err
	}
	copy(req.prompts, settled)
	for i := range echoes {
		for k := range req.n {
			e.choices[i*req.n+k].echo = echoes[i]
		}
	}
	return nil
}
