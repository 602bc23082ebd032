package openai

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"dure/inference"
	"dure/inference/front"
)

// idPrefix begins the id of a response.
const idPrefix = "resp_"

// Responses is what there is of the Responses API beyond one request: what is kept, and
// what runs in the background. It is safe for concurrent use.
type Responses struct {
	memory Memory
	log    *slog.Logger

	mu     sync.Mutex
	jobs   map[string]*job
	over   []*job // those of jobs that came to their end, the oldest first
	closed bool
	wg     sync.WaitGroup
	reel   reel
}

// NewResponses returns an empty one. It is to be closed.
func NewResponses(memory Memory, log *slog.Logger) *Responses {
	return &Responses{memory: memory, log: log, jobs: map[string]*job{}, reel: reel{most: maxReel}}
}

func (s *Responses) routes() []front.Route {
	const one = "/v1/responses/{id}"
	return []front.Route{
		{Method: "POST", Path: "/v1/responses", MaxBody: front.MaxBody, Doc: "answer a conversation that may be kept here, whole, as a stream, or in the background", Handle: s.create},
		{Method: "POST", Path: "/v1/responses/input_tokens", MaxBody: front.MaxBody, Doc: "how many tokens a response would read", Handle: s.count},
		{Method: "POST", Path: one + "/cancel", Doc: "end a response that is made in the background", Handle: s.cancel},
		{Method: "GET", Path: one + "/input_items", Doc: "what a response was the answer to", Handle: s.inputItems},
		{Method: "GET", Path: one, Doc: "a response, or with stream=true its events", Handle: s.show},
		{Method: "DELETE", Path: one, Doc: "forget a response", Handle: s.remove},
	}
}

// question is a request for a response that was read and understood.
type question struct {
	*respRequest
	id      string
	listing front.Listing
	ask     *inference.Request
}

func (s *Responses) read(x *front.Exchange, r *http.Request) (*question, error) {
	body, err := x.ReadBody(r)
	if err != nil {
		return nil, err
	}
	req, err := decodeResponse(body)
	if err == nil {
		err = req.addHeaders(r.Header)
	}
	if err != nil {
		return nil, err
	}
	q := &question{respRequest: req, id: idPrefix + rand.Text()}
	if q.listing, err = x.Find(req.model); err != nil {
		return nil, err
	}
	x.Warn(req.warnings...)
	var past []item
	if req.previous != "" {
		if past, err = s.past(x.KeyName(), req.previous); err != nil {
			return nil, err
		}
	}
	if err := s.settle(x.KeyName(), req.input, q.id); err != nil {
		return nil, err
	}
	said, err := conversation(slices.Concat(past, req.input), len(past))
	if err != nil {
		return nil, err
	}
	if req.instructions != "" {
		req.messages = []inference.Message{{Role: inference.RoleSystem, Content: req.instructions}}
	}
	req.messages = append(req.messages, said...)
	q.ask = req.requests(req.params(q.listing.Params))[0]
	return q, nil
}

// create answers POST /v1/responses.
func (s *Responses) create(x *front.Exchange, r *http.Request) error {
	q, err := s.read(x, r)
	if err != nil {
		return err
	}
	a := &composer{x: x, obj: newResponse(q.respRequest, q.id, q.listing.Name, x.Start().Unix(), q.ask.Params),
		live: q.stream, logprobs: q.logprobs, summary: q.summary != "", encrypted: q.encrypted, seed: q.ask.Params.Seed, spaced: q.spaced}
	if !q.unkept {
		a.keep = func(o *response) { s.keep(o, q.input, x.KeyName()) }
	}
	g := front.Generation{Model: q.listing, Caller: q.caller, Requests: []*inference.Request{q.ask}, Answer: a,
		Blame: func(_ int, err error) error { return q.wishes.blame(err) }}
	if q.background {
		return s.background(x, r, q, a, g)
	}
	if q.stream {
		g.Stream = front.EventStream(a.fail)
	}
	return x.Generate(r, g)
}

// keep stores a response. One that cannot be stored is answered all the same, and says so.
func (s *Responses) keep(o *response, input []item, owner string) {
	err := s.store(o, input, owner)
	if err == nil {
		return
	}
	s.log.Error("a response is not stored", "error", err)
	o.Store = false
	o.Warnings = append(o.Warnings, "store: the response could not be stored, and cannot be followed by its id; the server's log tells why")
}

func (s *Responses) store(o *response, input []item, owner string) error {
	written, err := front.AppendJSON(nil, o)
	if err != nil {
		return err
	}
	data, err := json.Marshal(record{Format: recordFormat, Owner: owner, Input: input, Response: written})
	if err != nil {
		return err
	}
	return s.memory.Keep(o.ID, data)
}

// unkeep takes back what was stored.
func (s *Responses) unkeep(id string) error {
	if err := s.memory.Forget(id); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// count answers POST /v1/responses/input_tokens.
func (s *Responses) count(x *front.Exchange, r *http.Request) error {
	q, err := s.read(x, r)
	if err != nil {
		return err
	}
	return x.Work(r, q.listing, q.caller, func(ctx context.Context, m inference.Model, _ inference.Caller) (int, error) {
		tokenizer, ok := m.(inference.Tokenizer)
		if !ok {
			return 0, noTokenizer(q.listing.Name, "model", "ask that server")
		}
		prompt, err := tokenizer.Render(ctx, q.ask, true)
		if err != nil {
			return 0, err
		}
		tokens, err := tokenizer.Tokenize(ctx, prompt, true)
		if err != nil {
			return 0, err
		}
		return 0, x.JSON(http.StatusOK, struct { // counted, not computed: nothing for the key
			Object string `json:"object"`
			Tokens int    `json:"input_tokens"`
		}{"response.input_tokens", len(tokens)})
	})
}
