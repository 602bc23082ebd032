package remote

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dure/inference"
)

// Endpoint names a model of another server.
type Endpoint struct {
	Base  string // up to and including /v1, for example "http://127.0.0.1:8484/v1"
	Model string // its name there; empty leaves the choice to the server
	Key   Key
	// Own says that the server is dure, llama-server or one that ignores what it does
	// not know: parameters that the API lacks, and what dure knows of the caller, are
	// sent then. Without it, they are errors, and who asks is not told.
	Own bool
	// Context is the largest prompt plus completion, in tokens; 0 where it is not known.
	Context int
	// MaxTokens and Reasoning are for requests that say nothing about them. Anthropic's
	// API wants a MaxTokens.
	MaxTokens int
	Reasoning inference.Reasoning
	Limits    Limits
}

// reasoning is that of a request, or where it says nothing the endpoint's.
func (at *Endpoint) reasoning(req *inference.Request) inference.Reasoning {
	if req.Reasoning == (inference.Reasoning{}) {
		return at.Reasoning
	}
	return req.Reasoning
}

// Limits bound one answer. A time of 0 is no limit; a size of 0 is the default.
type Limits struct {
	// FirstByte is the longest time from sending a request to the first line of its
	// answer. A server that has a queue and says so keeps within it.
	FirstByte time.Duration
	// Silence is the longest time without a whole line; the pings of a server that
	// computes are lines.
	Silence time.Duration
	Total   time.Duration
	// Line and Body are bytes.
	Line, Body int
}

// Defaults of the sizes, and of the times for endpoints that are somebody else's.
const (
	maxLine = 4 << 20
	maxBody = 256 << 20
)

// Elsewhere are the limits for an endpoint that is not one's own. A server of one's own
// may read a long prompt for as long as it takes.
var Elsewhere = Limits{FirstByte: 10 * time.Minute, Silence: 5 * time.Minute, Total: time.Hour}

// Model is one model of one endpoint. It is safe for concurrent use.
type Model struct {
	at   Endpoint
	wire wire
	host string
	http *http.Client
}

// wire is one of the two formats.
type wire interface {
	// encode returns the route of a request, below the base, and its body.
	encode(at *Endpoint, req *inference.Request) (path string, body []byte, err error)
	// head adds the headers that carry the key, and what else the format wants.
	head(h http.Header, at *Endpoint, req *inference.Request)
	// answer reads one answer.
	answer(m *Model, req *inference.Request) answer
}

// answer reads the events of one answer.
type answer interface {
	// take reads one event's data and returns what it adds to the answer; the last of
	// a whole answer is EventDone.
	take(data []byte) ([]inference.Event, error)
}

// New is an OpenAI-compatible server of one's own, without limits of time.
func New(base, key, model string, client *http.Client) *Model {
	return OpenAI(Endpoint{Base: base, Key: NewKey(key), Model: model, Own: true}, client)
}

// OpenAI is a model behind an OpenAI-compatible endpoint.
func OpenAI(at Endpoint, client *http.Client) *Model { return newModel(at, openAI{}, client) }

// Anthropic is a model behind an endpoint that speaks Anthropic's API.
func Anthropic(at Endpoint, client *http.Client) *Model {
	return newModel(at, &anthropic{memory: newMemory(maxMemory), where: at.Base + " " + at.Model}, client)
}

func newModel(at Endpoint, w wire, client *http.Client) *Model {
	at.Base = strings.TrimRight(at.Base, "/")
	if at.Limits.Line == 0 {
		at.Limits.Line = maxLine
	}
	if at.Limits.Body == 0 {
		at.Limits.Body = maxBody
	}
	host := at.Base
	if u, err := url.Parse(at.Base); err == nil && u.Host != "" {
		host = u.Host
	}
	own := *client
	// A key that is in a header of another name than the usual would go along.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Model{at: at, wire: w, host: host, http: &own}
}

// Info knows the name and the context: the endpoint describes the rest in its own words.
func (m *Model) Info() inference.Info {
	return inference.Info{Name: m.at.Model, Context: m.at.Context, Device: m.host}
}

// Generate implements inference.Model. A Seed of 0 leaves the seed to the server.
// EventStarted says that the endpoint has begun to answer.
func (m *Model) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		c, err := m.call(ctx, req)
		if err != nil {
			yield(inference.Event{}, err)
			return
		}
		defer c.close()
		if !yield(inference.Event{Kind: inference.EventStarted}, nil) {
			return
		}
		answer := m.wire.answer(m, req)
		for {
			events, err := c.next(answer)
			for _, ev := range events {
				if !yield(ev, nil) || ev.Kind == inference.EventDone {
					return
				}
			}
			if err != nil {
				yield(inference.Event{}, err)
				return
			}
		}
	}
}
