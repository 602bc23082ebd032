package report

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dure/runtime/agent"
	"dure/runtime/board"
	"dure/runtime/budget"
	"dure/runtime/event"
	"dure/runtime/swarm"
	"dure/runtime/tool"
	"dure/runtime/vcs/land"
	"dure/runtime/world"
)

// ErrNoRun: the log holds no run.
var ErrNoRun = errors.New("the log holds no run")

// A Report is what a log says of its run.
type Report struct {
	Spec     string    `json:"spec"`
	SpecHash string    `json:"spec_hash"`
	Repo     string    `json:"repo"`
	Base     string    `json:"base"`
	Check    string    `json:"check"`
	Began    time.Time `json:"began"`
	Last     time.Time `json:"last"` // of the last event
	Finish   string    `json:"finish,omitempty"`
	Verified string    `json:"verified,omitempty"` // the commit that the official check passed on
	Events   int       `json:"events"`

	Tasks []Task         `json:"tasks"`
	Ended map[string]int `json:"ended"` // tasks by outcome
	Goals swarm.Goals    `json:"goals"`

	Roles  map[string]Tokens `json:"roles"` // by role of the agent
	Agents []Agent           `json:"agents"`
	// Accounts are what the models used, and cost by their prices.
	Accounts budget.Report `json:"accounts"`

	Calls   map[string]map[string]int `json:"calls"` // by tool and outcome
	Blocked int                       `json:"blocked"`
	Stops   int                       `json:"stops"`

	Landed    map[string]int    `json:"landed"` // by way
	Conflicts int               `json:"conflicts"`
	Hottest   []land.PathStats  `json:"hottest"`
	Curve     []Point           `json:"curve"`
	Tables    map[string]Counts `json:"tables"`
}

// A Task is a row of the tree.
type Task struct {
	Task    swarm.TaskID  `json:"task"`
	Depth   int           `json:"depth"`
	Kind    swarm.Kind    `json:"kind"`
	Title   string        `json:"title"`
	Outcome swarm.Outcome `json:"outcome,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Author  string        `json:"author,omitempty"`
	Leases  int           `json:"leases"`
	Returns int           `json:"returns"`
	Main    string        `json:"main,omitempty"`
}

// Tokens are sums of what models told in their usage. Cached ones are among the prompt's.
type Tokens struct {
	Turns      int   `json:"turns"`
	Prompt     int64 `json:"prompt"`
	Cached     int64 `json:"cached"`
	Completion int64 `json:"completion"`
}

// An Agent is a row of the team.
type Agent struct {
	Name string     `json:"name"`
	Role swarm.Role `json:"role"`
	Tokens
	Calls int `json:"calls"`
}

// Counts of the shared tables: statements that were answered.
type Counts map[string]int64

// A Point is sums since the beginning.
type Point struct {
	Second    int   `json:"second"` // since the run began
	Done      int   `json:"done"`   // tasks
	Commits   int   `json:"commits"`
	Landed    int   `json:"landed"`
	Conflicts int   `json:"conflicts"`
	Tokens    int64 `json:"tokens"` // prompt and completion
}

// mostPoints of a curve: a long run has wider steps.
const mostPoints = 240

// Make folds a log.
func Make(ctx context.Context, log event.Log) (*Report, error) {
	f := newFold()
	for e, err := range log.ReadAll(ctx, 1) {
		if err == nil {
			err = f.apply(e)
		}
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	if f.state.Started() == nil {
		return nil, fmt.Errorf("report: %w", ErrNoRun)
	}
	return f.report(), nil
}

// fold is a log so far.
type fold struct {
	r      *Report
	state  *swarm.State
	hot    *land.Hot
	budget *budget.State
	agents map[string]*Agent
	now    Point // sums, without the second
	points []Point
}

func newFold() *fold {
	return &fold{
		r:     &Report{Ended: map[string]int{}, Roles: map[string]Tokens{}, Calls: map[string]map[string]int{}, Landed: map[string]int{}, Tables: map[string]Counts{}},
		state: swarm.NewState(), hot: land.NewHot(land.HotPolicy{}), agents: map[string]*Agent{}, budget: budget.NewState(),
	}
}

func (f *fold) apply(e event.Event) error {
	f.r.Events++
	f.r.Last = e.Time
	if err := f.budget.Apply(e); err != nil {
		return err
	}
	var err error
	switch {
	case e.Stream == swarm.Stream:
		err = f.swarm(e)
	case e.Type == agent.Events.Turned.Name():
		err = f.turned(e)
	case e.Type == tool.Events.Ended.Name():
		err = f.called(e)
	case e.Type == "gate.blocked":
		f.r.Blocked++
	case e.Type == "gate.stopped":
		f.r.Stops++
	case e.Stream == world.LandingStream:
		err = f.landing(e)
	case e.Stream == board.UsageStream:
		err = f.used(e)
	}
	f.step(e.Time)
	return err
}

func (f *fold) swarm(e event.Event) error {
	if err := f.state.Apply(e); err != nil {
		return err
	}
	switch e.Type {
	case swarm.Events.Started.Name():
		f.r.Began = e.Time
	case swarm.Events.Reported.Name():
		p, err := swarm.Events.Reported.Decode(e)
		if err != nil {
			return err
		}
		if p.Commit != "" {
			f.now.Commits++
		}
	case swarm.Events.Ended.Name():
		p, err := swarm.Events.Ended.Decode(e)
		if err != nil {
			return err
		}
		if p.Outcome == swarm.Done {
			f.now.Done++
		}
	}
	return nil
}

// agentOf is the row of the agent whose stream it is.
func (f *fold) agentOf(name string) *Agent {
	a := f.agents[name]
	if a == nil {
		a = &Agent{Name: name}
		f.agents[name] = a
	}
	return a
}

func (f *fold) turned(e event.Event) error {
	p, err := agent.Events.Turned.Decode(e)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(e.Stream, agent.Stream("", "")), "/")
	a := f.agentOf(name)
	a.add(Tokens{1, int64(p.Usage.PromptTokens), int64(p.Usage.CachedTokens), int64(p.Usage.CompletionTokens)})
	f.now.Tokens += int64(p.Usage.PromptTokens) + int64(p.Usage.CompletionTokens)
	return nil
}

func (t *Tokens) add(o Tokens) {
	t.Turns += o.Turns
	t.Prompt += o.Prompt
	t.Cached += o.Cached
	t.Completion += o.Completion
}

func (f *fold) called(e event.Event) error {
	p, err := tool.Events.Ended.Decode(e)
	if err != nil {
		return err
	}
	if f.r.Calls[p.Tool] == nil {
		f.r.Calls[p.Tool] = map[string]int{}
	}
	f.r.Calls[p.Tool][string(p.Outcome)]++
	f.agentOf(p.Agent).Calls++
	return nil
}

func (f *fold) landing(e event.Event) error {
	p, err := world.Landing.Decode(e)
	if err != nil {
		return err
	}
	f.hot.Apply(p)
	switch {
	case p.Landed != nil:
		f.r.Landed[string(p.Landed.Tier)]++
		f.now.Landed++
	case p.Conflict != nil:
		f.r.Conflicts++
		f.now.Conflicts++
	}
	return nil
}

// step notes the sums at the end of each second that has changed something.
func (f *fold) step(at time.Time) {
	if f.r.Began.IsZero() {
		return
	}
	p := f.now
	p.Second = max(0, int(at.Sub(f.r.Began)/time.Second))
	if n := len(f.points); n > 0 {
		last := &f.points[n-1]
		if p.Second = max(p.Second, last.Second); p == *last {
			return
		} else if p.Second == last.Second {
			*last = p
			return
		}
	}
	f.points = append(f.points, p)
	if len(f.points) > 2*mostPoints {
		f.points = thinned(f.points)
	}
}

// thinned is every other point, and the last.
func thinned(points []Point) []Point {
	kept := points[:0:0]
	for i, p := range points {
		if i%2 == 0 || i == len(points)-1 {
			kept = append(kept, p)
		}
	}
	return kept
}

func (f *fold) report() *Report {
	r, s := f.r, f.state
	b := s.Started()
	r.Spec, r.SpecHash, r.Repo, r.Base, r.Check, r.Goals = b.Spec, b.SpecHash, b.Repo, b.Base, b.Check, s.Goals()
	if fin := s.Finished(); fin != nil {
		r.Finish = string(fin.Finish)
	}
	if v := s.Verified(); v != nil && v.Passed {
		r.Verified = v.Commit
	}
	for _, t := range s.Tasks() {
		r.Tasks = append(r.Tasks, Task{t.ID(), t.Depth, t.Kind, t.Title, t.Outcome, t.Reason, t.Author, t.Epoch, t.Returns, t.Main})
		outcome := string(t.Outcome)
		if outcome == "" {
			outcome = "open"
		}
		r.Ended[outcome]++
	}
	for _, a := range s.Agents() {
		f.agentOf(a.Agent).Role = a.Role
	}
	for _, name := range slices.Sorted(maps.Keys(f.agents)) {
		a := f.agents[name]
		r.Agents = append(r.Agents, *a)
		sum := r.Roles[string(a.Role)]
		sum.add(a.Tokens)
		r.Roles[string(a.Role)] = sum
	}
	r.Accounts = f.budget.Report()
	r.Hottest, r.Curve = f.hot.Top(20), f.points
	return r
}
