package ollama

import (
	"net/http"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/strict"
)

// chat answers POST /api/chat.
func chat(x *front.Exchange, r *http.Request) error {
	req, listing, err := read(x, r, chatFields, checkChat)
	switch {
	case err != nil:
		return err
	case len(req.messages) == 0:
		return justLoad(x, r, req, listing, true)
	}
	return answer(x, r, req, listing, &inference.Request{Messages: req.messages, Tools: req.tools}, true)
}

// generate answers POST /api/generate.
func generate(x *front.Exchange, r *http.Request) error {
	req, listing, err := read(x, r, generateFields, checkGenerate)
	switch {
	case err != nil:
		return err
	case req.prompt == nil || *req.prompt == "":
		return justLoad(x, r, req, listing, false)
	case req.raw:
		return answer(x, r, req, listing, &inference.Request{Prompt: &inference.Prompt{Text: *req.prompt}}, false)
	}
	ask := &inference.Request{Messages: []inference.Message{{Role: inference.RoleUser, Content: *req.prompt}}}
	if req.system != "" {
		ask.Messages = append([]inference.Message{{Role: inference.RoleSystem, Content: req.system}}, ask.Messages...)
	}
	return answer(x, r, req, listing, ask, false)
}

func read(x *front.Exchange, r *http.Request, known strict.Fields[request], check func(*strict.Decoder, *request) error) (*request, front.Listing, error) {
	req := newRequest()
	if err := front.ReadInto(x, r, known, req, check); err != nil {
		return nil, front.Listing{}, err
	}
	if err := req.settle(x, r.Header); err != nil {
		return nil, front.Listing{}, err
	}
	l, err := find(x, req.model)
	return req, l, err
}

// answer asks the model and sends what it says.
func answer(x *front.Exchange, r *http.Request, req *request, l front.Listing, ask *inference.Request, conversation bool) error {
	params, err := req.params(l)
	if err != nil {
		return err
	}
	ask.Params, ask.Format = params, req.format
	if ask.Prompt == nil {
		ask.Reasoning = req.reasoning
	}
	say := &sayer{x: x, model: req.model, chat: conversation, logprobs: params.Logprobs}
	g := front.Generation{Model: l, Caller: req.caller, Requests: []*inference.Request{ask}, Answer: &whole{sayer: say}}
	if req.stream {
		g.Answer = &stream{sayer: say}
		g.Stream = front.JSONLines(func(dst []byte, f *front.Failure) ([]byte, error) { return front.AppendLine(dst, wireFailure(f)) })
	}
	return x.Generate(r, g)
}

// justLoad is what a request without anything to answer asks for: that the model is
// loaded, or with a keep_alive of 0 unloaded.
func justLoad(x *front.Exchange, r *http.Request, req *request, l front.Listing, conversation bool) error {
	done := "load"
	if req.caller.KeepAlive == inference.UnloadAtOnce {
		done = "unload"
		pool, err := x.Pool()
		if err != nil {
			return err
		}
		if err := pool.Unload(r.Context(), l.Name, false); err != nil {
			return err
		}
	} else {
		_, release, err := x.Open(r.Context(), l, req.caller.KeepAlive)
		if err != nil {
			return err
		}
		release()
	}
	p := piece{Model: req.model, Created: time.Now().UTC(), Done: true, Reason: done}
	if conversation {
		p.Message = &wireMessage{Role: inference.RoleAssistant}
	} else {
		p.Response = new("")
	}
	return x.JSON(http.StatusOK, p)
}
