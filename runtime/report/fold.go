package report

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"dure/runtime/agent"
	"dure/runtime/board"
	"dure/runtime/budget"
	"dure/runtime/control"
	"dure/runtime/event"
	"dure/runtime/swarm"
	"dure/runtime/tool"
	"dure/runtime/vcs/land"
	"dure/runtime/world"
)

// fold is a log so far.
type fold struct {
	r      *Report
	state  *swarm.State
	hot    *land.Hot
	budget *budget.State
	agents map[string]*Agent
	now    Point // sums, without the second
	points []Point

	roles   map[string]swarm.Role // of who speaks in a stream
	clocks  map[swarm.TaskID]*clock
	files   map[string]*file
	touched map[swarm.TaskID]map[string]int64 // what each task's landings left
}

func newFold() *fold {
	return &fold{
		r:     &Report{Ended: map[string]int{}, Roles: map[string]Tokens{}, Calls: map[string]map[string]int{}, Landed: map[string]int{}, Tables: map[string]Counts{}},
		state: swarm.NewState(), hot: land.NewHot(land.HotPolicy{}), agents: map[string]*Agent{}, budget: budget.NewState(),
		roles: map[string]swarm.Role{}, clocks: map[swarm.TaskID]*clock{}, files: map[string]*file{}, touched: map[swarm.TaskID]map[string]int64{},
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
	case e.Type == agent.Events.Born.Name():
		var b agent.Born
		if b, err = agent.Events.Born.Decode(e); err == nil {
			f.roles[e.Stream] = swarm.Role(b.Role)
		}
	case e.Stream == control.AcceptedStream:
		var t control.Taken
		if t, err = control.AcceptedType.Decode(e); err == nil {
			f.r.Accepted = &t
		}
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
	var named struct {
		Task swarm.TaskID `json:"task"`
	}
	if err := json.Unmarshal(e.Payload, &named); err == nil && named.Task != "" {
		f.tick(named.Task, e.Time)
	} else {
		f.tick(swarm.Root, e.Time)
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
			if t, ok := f.state.Task(p.Task); ok && t.Goal != "" {
				f.now.Score++
			}
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
	used := int64(p.Usage.PromptTokens) + int64(p.Usage.CompletionTokens)
	f.now.Tokens += used
	*f.now.of(f.roles[e.Stream]) += used
	f.now.Cost = f.budget.Run().Cost.Micro()
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
		for _, touched := range p.Landed.Files {
			f.sized(swarm.TaskID(p.Landed.Task), touched.Path, touched.Size)
		}
		f.now.Bytes = f.size().Bytes
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
		row := Task{
			Task: t.ID(), Depth: t.Depth, Kind: t.Kind, Title: t.Title, Outcome: t.Outcome, Reason: t.Reason, Author: t.Author, Leases: t.Epoch,
			Returns: t.Returns, Main: t.Main, Check: t.Submitted.Check, Summary: t.Summary, Size: sizeOf(f.touched[t.ID()]),
		}
		if c := f.clocks[t.ID()]; c != nil {
			row.Times = c.times
		}
		r.Tasks = append(r.Tasks, row)
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
	if d := s.Draft(); d != nil {
		r.Plan = d.Text
	}
	if a := s.Approval(); a != nil {
		r.Approved = a.By
	}
	if r.Size = f.size(); r.Goals.Proved > 0 {
		r.PerGoal = r.Size.Bytes / int64(r.Goals.Proved)
	}
	r.Accounts = f.budget.Report()
	r.Hottest, r.Curve = f.hot.Top(20), f.points
	return r
}
