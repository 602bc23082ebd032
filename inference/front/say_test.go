package front_test

import (
	"math"
	"net"
	"net/http"
	"testing"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/front/strict"
)

// A surface as small as one can be that generates: POST /say answers a text, whole
// or as a stream; POST /spell tells its tokens; GET /names tells the models.

type sayRequest struct {
	model, text   string
	stream, usage bool
	n             int
	caller        inference.Caller
	changes       front.Changes
	told          map[string]bool
}

func changesOf(r *sayRequest) *front.Changes { return &r.changes }

var sayFields = strict.Joined(front.CallerFields(func(r *sayRequest) *inference.Caller { return &r.caller }), strict.Fields[sayRequest]{
	"model":       strict.Text(func(r *sayRequest, s string) { r.model = s }),
	"text":        strict.Text(func(r *sayRequest, s string) { r.text = s }),
	"stream":      strict.Boolean(func(r *sayRequest, b bool) { r.stream = b }),
	"usage":       strict.Boolean(func(r *sayRequest, b bool) { r.usage = b }),
	"n":           strict.Integer(1, 128, func(r *sayRequest, i int64) { r.n = int(i) }),
	"seed":        front.ParamInteger(changesOf, 0, math.MaxInt32, func(p *inference.Params, i int) { p.Seed = uint64(i) }),
	"temperature": front.ParamNumber(changesOf, 0, 2, func(p *inference.Params, f float32) { p.Temperature = f }),
	"top_p":       front.ParamPositive(changesOf, 1, func(p *inference.Params, f float32) { p.TopP = f }),
	"last_n":      front.ParamInteger(changesOf, -1, 100, func(p *inference.Params, n int) { p.Penalties.LastN = front.LookBack(n) }),
})

type sayError struct {
	Error struct {
		Code    inference.Code `json:"code"`
		Message string         `json:"message"`
		Param   string         `json:"param"`
	} `json:"error"`
}

func wireError(f *front.Failure) (e sayError) {
	e.Error.Code, e.Error.Message, e.Error.Param = f.Code, f.Message, f.Param
	return e
}

func saySurface() front.Surface {
	return front.Surface{
		Routes: []front.Route{
			{Method: "GET", Path: "/names", Doc: "the models", Handle: names},
			{Method: "GET", Path: "/names/{id}", Doc: "a model", Handle: name},
			{Method: "POST", Path: "/say", MaxBody: front.MaxBody, Doc: "answer a text", Handle: say},
			{Method: "POST", Path: "/spell", MaxBody: front.MaxBody, Doc: "the tokens of a text", Handle: spell},
		},
		Fail: func(_ *front.Exchange, f *front.Failure) any { return wireError(f) },
	}
}

func names(x *front.Exchange, _ *http.Request) error {
	var all []string
	for _, l := range x.Listings() {
		all = append(all, l.Name)
	}
	return x.JSON(http.StatusOK, all)
}

func name(x *front.Exchange, r *http.Request) error {
	l, err := x.Lookup(r.PathValue("id"))
	if err != nil {
		return err
	}
	return x.JSON(http.StatusOK, l.Name)
}

// readSay reads a body of either route that takes a text.
func readSay(x *front.Exchange, r *http.Request) (*sayRequest, front.Listing, error) {
	req := &sayRequest{n: 1}
	err := front.ReadInto(x, r, sayFields, req, func(d *strict.Decoder, r *sayRequest) error {
		if r.told = d.Present(); !r.told["text"] {
			return d.Missing("text")
		}
		return nil
	})
	if err != nil {
		return nil, front.Listing{}, err
	}
	warnings, err := front.AddHeaders(&req.caller, req.told, r.Header)
	if err != nil {
		return nil, front.Listing{}, err
	}
	x.Warn(warnings...)
	listing, err := x.Find(req.model)
	return req, listing, err
}

func say(x *front.Exchange, r *http.Request) error {
	req, listing, err := readSay(x, r)
	if err != nil {
		return err
	}
	return x.Generate(r, generation(x, req, listing))
}

func generation(x *front.Exchange, req *sayRequest, listing front.Listing) front.Generation {
	g := front.Generation{Model: listing, Caller: req.caller}
	for i := range req.n {
		p := req.changes.Over(listing.Params)
		p.Seed += uint64(i)
		g.Requests = append(g.Requests, &inference.Request{Params: p,
			Messages: []inference.Message{{Role: inference.RoleUser, Content: req.text}}})
	}
	if !req.stream {
		g.Answer = &sayWhole{x: x, choices: make([]sayChoice, req.n)}
		return g
	}
	g.Answer = &sayStream{x: x, usage: req.usage}
	g.Stream = front.EventStream(func(dst []byte, f *front.Failure) ([]byte, error) { return front.AppendEvent(dst, wireError(f)) })
	return g
}

func spell(x *front.Exchange, r *http.Request) error {
	req, listing, err := readSay(x, r)
	if err != nil {
		return err
	}
	model, release, err := x.Open(r.Context(), listing, req.caller.KeepAlive)
	if err != nil {
		return err
	}
	defer release()
	ids, err := model.(inference.Tokenizer).Tokenize(r.Context(), req.text, false)
	if err != nil {
		return err
	}
	return x.JSON(http.StatusOK, ids)
}

type sayChoice struct {
	Index  int                    `json:"index"`
	Begin  bool                   `json:"begin,omitempty"`
	Text   string                 `json:"text,omitempty"`
	Finish inference.FinishReason `json:"finish,omitempty"`
}

type sayEnd struct {
	Choices  []sayChoice     `json:"choices,omitempty"`
	Usage    inference.Usage `json:"usage"`
	Warnings []string        `json:"warnings,omitempty"`
}

type sayWhole struct {
	x       *front.Exchange
	choices []sayChoice
}

func (a *sayWhole) Start(dst []byte, c *front.Choice) ([]byte, error) {
	a.choices[c.Index].Index = c.Index
	return dst, nil
}

func (a *sayWhole) Event(dst []byte, c *front.Choice, ev inference.Event) ([]byte, error) {
	a.choices[c.Index].Text += ev.Text
	return dst, nil
}

func (a *sayWhole) End(dst []byte, c *front.Choice, _ bool) ([]byte, error) {
	a.choices[c.Index].Finish = c.Finish
	return dst, nil
}

func (a *sayWhole) Done(dst []byte, u inference.Usage) ([]byte, error) {
	return front.AppendJSON(dst, sayEnd{a.choices, u, a.x.Warnings()})
}

type sayStream struct {
	x     *front.Exchange
	usage bool
}

func (a *sayStream) Start(dst []byte, c *front.Choice) ([]byte, error) {
	return front.AppendEvent(dst, sayChoice{Index: c.Index, Begin: true})
}

func (a *sayStream) Event(dst []byte, c *front.Choice, ev inference.Event) ([]byte, error) {
	return front.AppendEvent(dst, sayChoice{Index: c.Index, Text: ev.Text})
}

func (a *sayStream) End(dst []byte, c *front.Choice, _ bool) ([]byte, error) {
	return front.AppendEvent(dst, sayChoice{Index: c.Index, Finish: c.Finish})
}

func (a *sayStream) Done(dst []byte, u inference.Usage) (_ []byte, err error) {
	if a.usage {
		if dst, err = front.AppendEvent(dst, sayEnd{Usage: u, Warnings: a.x.Warnings()}); err != nil {
			return dst, err
		}
	}
	return append(dst, "data: [DONE]\n\n"...), nil
}

// world is a server that speaks this surface only.
type world struct {
	*fronttest.World
	models *fronttest.Models
}

type generateFunc = fronttest.GenerateFunc

var (
	script  = fronttest.Script
	started = fronttest.Started
	says    = fronttest.Says
	done    = fronttest.Done
)

const (
	hello       = `{"text":"hi"}`
	helloStream = `{"stream":true,"text":"hi"}`
)

func surfaces() []front.Surface { return []front.Surface{saySurface()} }

// newWorld serves over real sockets.
func newWorld(t testing.TB, generate generateFunc, change ...func(*front.Options)) *world {
	t.Helper()
	w := fronttest.New(t, surfaces(), generate, change...)
	return &world{w, w.Models}
}

func newHandler(t testing.TB, generate generateFunc, change ...func(*front.Options)) *world {
	t.Helper()
	w := fronttest.NewHandler(t, surfaces(), generate, change...)
	return &world{w, w.Models}
}

// newPipeWorld serves over pipes inside a synctest bubble, until stop.
func newPipeWorld(t testing.TB, generate generateFunc, change ...func(*front.Options)) (_ *world, dial func() net.Conn, stop func()) {
	w, dial, stop := fronttest.NewPiped(t, surfaces(), generate, change...)
	return &world{w, w.Models}, dial, stop
}

// reply is a response that was read to its end.
type reply struct{ fronttest.Reply }

func (w *world) do(method, path, body string, headers ...string) reply {
	return reply{w.Do(method, path, body, headers...)}
}

func (w *world) say(body string) reply {
	return w.do("POST", "/say", body, "Content-Type", "application/json")
}
