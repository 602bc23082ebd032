package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"dure/runtime/budget"
	"dure/runtime/event"
	"dure/runtime/gate"
	"dure/runtime/swarm"
)

// A Problem is why a request is not answered, with what HTTP says of it.
type Problem struct {
	Status  int
	Message string
}

func (p *Problem) Error() string { return p.Message }

func problem(status int, format string, args ...any) *Problem {
	return &Problem{status, fmt.Sprintf(format, args...)}
}

// A Query is a request to a Route, as whoever serves HTTP has read it.
type Query struct {
	Run    string // the name in the path
	Body   []byte
	By     string // who asks, as the server knows it
	After  string // of a stream: the last event that the client has; empty: none
	Stream string // of a stream: the log's stream that is wanted; empty: all
}

// A Route is a request that is answered for the runs of a machine. Exactly one of Answer
// and Follow is set. Errors are best a *Problem.
type Route struct {
	Method, Path string // with {id} where the run's name stands
	Doc          string
	MaxBody      int64
	Answer       func(ctx context.Context, q Query) (any, error)
	Follow       func(ctx context.Context, q Query) (iter.Seq2[Item, error], error)
}

// An Item is one event of a stream of events.
type Item struct {
	ID   event.Position
	Type string
	Data any
}

// Append adds the item in the form of server-sent events.
func (i Item) Append(dst []byte) ([]byte, error) {
	data, err := json.Marshal(i.Data)
	if err != nil {
		return dst, err
	}
	if i.ID > 0 {
		dst = fmt.Appendf(dst, "id: %d\n", i.ID)
	}
	return fmt.Appendf(dst, "event: %s\ndata: %s\n\n", i.Type, data), nil
}

// Told is an event as a stream has it.
type Told struct {
	Position event.Position  `json:"position"`
	Time     time.Time       `json:"time"`
	Stream   string          `json:"stream"`
	Sequence event.Sequence  `json:"sequence"`
	Type     string          `json:"type"`
	Version  int             `json:"version"`
	Payload  json.RawMessage `json:"payload"`
}

// End is the last of a stream: nobody runs the run any more.
type End struct {
	State Standing `json:"state"`
	Why   string   `json:"why,omitempty"`
}

// rows is a list in the form of the server's others.
type rows struct {
	Object string `json:"object"`
	Data   []Row  `json:"data"`
}

// Routes are the routes below /v1/dure/swarms. Those that decide go to the process of the
// run, by its socket; the others read its log.
func (r Runs) Routes() []Route {
	const one = "/v1/dure/swarms/{id}"
	all := []Route{
		{Method: "GET", Path: "/v1/dure/swarms", Doc: "the runs of teams on this machine, and how each stands",
			Answer: func(ctx context.Context, _ Query) (any, error) {
				list, err := r.List(ctx)
				return rows{"list", list}, err
			}},
		{Method: "GET", Path: one + "/events", Doc: "the events of a run as a stream of server-sent events, from the one after `Last-Event-ID` (or `?after=`) on, to the run's end; `?stream=swarm` leaves out the agents' own",
			Follow: r.events},
		{Method: "GET", Path: one, Doc: "a run: its tasks, agents, questions, what it used, as `dure swarm status --json`",
			Answer: func(ctx context.Context, q Query) (any, error) { return r.Status(ctx, q.Run) }},
	}
	for _, o := range decisions {
		all = append(all, Route{Method: "POST", Path: one + "/" + o.name, Doc: o.doc, MaxBody: maxBody,
			Answer: func(ctx context.Context, q Query) (any, error) { return r.decide(ctx, q, o) }})
	}
	return all
}

func (r Runs) events(ctx context.Context, q Query) (iter.Seq2[Item, error], error) {
	after, err := strconv.ParseUint("0"+q.After, 10, 63)
	if err != nil {
		return nil, problem(400, "after %q: an event's id is a number", clip(q.After))
	}
	if q.Stream != "" {
		if err := event.CheckStream(q.Stream); err != nil {
			return nil, problem(400, "%v", err)
		}
	}
	found, err := r.Follow(ctx, q.Run, event.Position(after), q.Stream)
	if err != nil {
		return nil, err
	}
	return func(yield func(Item, error) bool) {
		for e, err := range found {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if !yield(Item{e.Position, e.Type, Told{e.Position, e.Time, e.Stream, e.Sequence, e.Type, e.Version, e.Payload}}, nil) {
				return
			}
		}
		row := r.row(ctx, q.Run)
		yield(Item{Type: "end", Data: End{row.State, row.Why}}, ctx.Err())
	}, nil
}

// wish is the body of a decision.
type wish struct {
	Text     string        `json:"text"`
	Question string        `json:"question"`
	Agent    string        `json:"agent"`
	Task     swarm.TaskID  `json:"task"`
	Call     string        `json:"call"`
	Limits   *swarm.Limits `json:"limits"`
	Caps     *budget.Caps  `json:"caps"`
}

// has reports whether a field is there.
func (w wish) has(field string) bool {
	switch field {
	case "text":
		return w.Text != ""
	case "question":
		return w.Question != ""
	case "agent":
		return w.Agent != ""
	case "task":
		return w.Task != ""
	case "call":
		return w.Call != ""
	}
	return w.Limits != nil
}

// a decision is what a person may want of a run that is being run.
type decisionRoute struct {
	name, doc string
	needs     []string // fields of the body
	do        func(ctx context.Context, c *Client, by string, w wish) (any, error)
}

func ordered(order string) func(ctx context.Context, c *Client, by string, w wish) (any, error) {
	return func(ctx context.Context, c *Client, by string, w wish) (any, error) {
		return c.Order(ctx, order, Order{By: by, Text: w.Text, Question: w.Question, Agent: w.Agent, Task: w.Task, Limits: w.Limits})
	}
}

var decisions = []decisionRoute{
	{"approve", "let the workers of a run start on its plan; `text` may say why", nil, ordered("approve")},
	{"reject", "have the lead plan again: `text` says why", []string{"text"}, ordered("reject")},
	{"answer", "answer a `question` of a run with a `text`", []string{"question", "text"}, ordered("answer")},
	{"tell", "tell an `agent` a `text` before its next turn", []string{"agent", "text"}, ordered("steer")},
	{"ask", "ask an `agent` something (`text`) beside its work", []string{"agent", "text"},
		func(ctx context.Context, c *Client, by string, w wish) (any, error) {
			text, err := c.Ask(ctx, by, w.Agent, w.Text)
			return Answer{text}, err
		}},
	{"pause", "begin nothing new in a run", nil, ordered("pause")},
	{"unpause", "go on after a pause", nil, ordered("unpause")},
	{"kill", "take an `agent` out of a run; another one takes its task", []string{"agent"}, ordered("kill")},
	{"park", "let a `task`, and all below it, rest: `text` says why", []string{"task", "text"}, ordered("park")},
	{"reopen", "go on with a `task` that was parked, failed or was dropped", []string{"task", "text"}, ordered("reopen")},
	{"finish", "finish a run now, with what has landed", nil, ordered("finish")},
	{"extend", "give a run more: `limits`", []string{"limits"}, ordered("extend")},
	{"caps", "what a run's models used; `caps` puts other ceilings in force", nil,
		func(ctx context.Context, c *Client, by string, w wish) (any, error) {
			return c.Caps(ctx, Order{By: by, Caps: w.Caps})
		}},
	{"stop", "stop the calls of a whole team", nil,
		func(ctx context.Context, c *Client, by string, w wish) (any, error) { return c.Stop(ctx, by, w.Text) }},
	{"resume", "let a stopped team go on; blocked calls are refused", nil,
		func(ctx context.Context, c *Client, by string, w wish) (any, error) { return c.Resume(ctx, by, w.Text) }},
	{"overrule", "have a blocked call (`agent`, `call`) carried out", []string{"agent", "call"},
		func(ctx context.Context, c *Client, by string, w wish) (any, error) {
			return c.Overrule(ctx, by, gate.CallID{Agent: w.Agent, Call: w.Call}, w.Text)
		}},
	{"end", "end a team for good", nil,
		func(ctx context.Context, c *Client, by string, w wish) (any, error) { return c.End(ctx, by, w.Text) }},
}

func (r Runs) decide(ctx context.Context, q Query, d decisionRoute) (any, error) {
	w, err := readWish(q.Body)
	if err != nil {
		return nil, err
	}
	for _, field := range d.needs {
		if !w.has(field) {
			return nil, problem(400, "%s: the body lacks %q; it needs %v", d.name, field, d.needs)
		}
	}
	folder, err := r.folder(q.Run)
	if err != nil {
		return nil, err
	}
	answer, err := d.do(ctx, Dial(filepath.Join(folder, SocketFile)), q.By, w)
	var refused *Problem
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, ErrNotRunning):
		return nil, problem(409, "nobody runs %s: dure swarm run --dir %s goes on with it", q.Run, q.Run)
	case errors.As(err, &refused):
		// What the run's process takes for its own fault is the request's to this server.
		if !slices.Contains([]int{400, 404, 409, 503}, refused.Status) {
			refused = problem(409, "%s", refused.Message)
		}
		return nil, refused
	}
	return nil, err
}

// readWish reads the body of a decision; none is an empty one.
func readWish(body []byte) (w wish, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return w, nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return w, problem(400, "body: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return w, problem(400, "body: more than one value")
	}
	if t := bytes.TrimSpace(body); t[0] != '{' {
		return w, problem(400, "body: an object is wanted")
	}
	return w, nil
}
