package swarm

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Random runs: anything may happen in any order, and after each step the invariants
// hold. Then the world becomes fair, and the run ends.
func TestRandomRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := begin(t, func(p *Started) {
			p.Approval = rapid.Bool().Draw(rt, "approval")
			p.Judge = rapid.Bool().Draw(rt, "judge")
			p.Limits = Limits{
				Agents: rapid.IntRange(1, 5).Draw(rt, "agents"), Active: rapid.IntRange(1, 6).Draw(rt, "active"),
				Returns: rapid.IntRange(1, 2).Draw(rt, "returns"), Depth: rapid.IntRange(2, 4).Draw(rt, "depth"), Tasks: 40,
			}
		})
		c := &chaos{b: b, rt: rt}
		rt.Repeat(map[string]func(*rapid.T){
			"plan": func(*rapid.T) { c.plan() }, "result": func(rt *rapid.T) { c.result(rt) },
			"result again": func(rt *rapid.T) { c.result(rt) }, "spawn": func(rt *rapid.T) { c.spawn(rt) },
			"ask": func(rt *rapid.T) { c.ask(rt) }, "person": func(rt *rapid.T) { c.person(rt) },
			"time": func(rt *rapid.T) {
				b.now = b.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "seconds")) * time.Second)
			},
			"": func(rt *rapid.T) { c.invariants(rt) },
		})
		c.fair(rt)
		c.replay(rt)
	})
}

// chaos plays all sides of a run.
type chaos struct {
	b     *table
	rt    *rapid.T
	works []Effect
	// How much of the log the invariants were looked at after.
	checked int
}

func (c *chaos) plan() {
	for _, e := range Plan(c.b.s, c.b.now, c.b.busy) {
		if k, ok := KeyOf(e); ok && k.Verb != VerbTell {
			if t := c.b.s.task(k.Task); t.Ended() || t.parked() || t.held != "" || c.b.s.finished != nil {
				c.rt.Fatalf("%+v of a task that is %s", k, t.Phase)
			}
		}
	}
	if c.b.s.finished == nil {
		c.works = append(c.works, c.b.settle()...)
	}
	c.works = slices.DeleteFunc(c.works, func(e Effect) bool {
		k, _ := KeyOf(e)
		return !c.b.s.wants(k)
	})
}

// result ends a work in some way.
func (c *chaos) result(rt *rapid.T) {
	if len(c.works) == 0 {
		return
	}
	i := rapid.IntRange(0, len(c.works)-1).Draw(rt, "work")
	e := c.works[i]
	c.works = slices.Delete(c.works, i, i+1)
	k, _ := KeyOf(e)
	delete(c.b.running, k)
	if !c.b.s.wants(k) {
		return
	}
	if p := c.outcome(e, rapid.IntRange(0, 3).Draw(rt, "luck")); p != nil {
		c.b.apply(p)
	}
}

// outcome is what comes of a work: the more luck the better. Nothing: it failed.
func (c *chaos) outcome(e Effect, luck int) any {
	commit := fmt.Sprintf("c%d", len(c.b.log))
	switch e := e.(type) {
	case Work:
		p := Reported{Task: e.Task, Epoch: e.Epoch, Summary: "s", Commit: commit}
		if e.Kind == KindPlan {
			p.Commit = ""
		}
		if luck == 0 {
			p.GaveUp = "tired"
		}
		return p
	case Judge:
		p := Judged{Task: e.Task, Epoch: e.Epoch, Agent: e.Agent, Passed: luck > 1, Cites: "x"}
		if luck == 0 {
			p.Cites = ""
		}
		return p
	case Check:
		return Checked{Task: e.Task, Epoch: e.Epoch, Commit: e.Commit, Passed: luck > 0, By: Harness}
	case Verify:
		return Verified{Epoch: e.Epoch, Commit: commit, Passed: luck > 1}
	case Land:
		switch luck {
		case 0:
			return Refused{Task: e.Task, Epoch: e.Epoch, Commit: e.Commit, Reason: "large"}
		case 1:
			return Conflicted{Task: e.Task, Epoch: e.Epoch, Commit: e.Commit, Conflict: commit, With: c.others(e.Agent)}
		}
		return Landed{Task: e.Task, Epoch: e.Epoch, Commit: e.Commit, Main: commit}
	case Open:
		return Opened{Path: e.Path, Task: e.Task}
	case Tell:
		return Delivered{Agent: e.Agent, Ref: e.Ref}
	}
	return nil
}

// others are sides of a conflict: who landed before.
func (c *chaos) others(agent string) []Side {
	var out []Side
	for _, a := range c.b.s.agents {
		if a.landed != "" && a.Agent != agent {
			out = append(out, Side{Agent: a.Agent, Task: a.landed})
		}
	}
	return out
}

// request makes one of a coordinator without a loop, and applies what it leads to.
func (c *chaos) request(call func(*Coordinator) error) {
	co := New(nil, nil, func() time.Time { return c.b.now }, quiet)
	errs := aside(func() error { return call(co) })
	l := &loop{c: co, s: c.b.s, works: map[Key]*work{}}
	(<-co.inbox)(l)
	c.b.log = append(c.b.log, l.pending...)
	for _, answer := range l.after {
		answer(nil)
	}
	if l.failed != nil {
		c.rt.Fatal(l.failed)
	}
	if err := <-errs; err != nil && !errors.Is(err, ErrRefused) {
		c.rt.Fatal(err)
	}
}

func aside(f func() error) <-chan error {
	errs := make(chan error, 1)
	go func() { errs <- f() }()
	return errs
}

func (c *chaos) anyTask(rt *rapid.T) TaskID {
	return taskID(rapid.IntRange(1, len(c.b.s.tasks)).Draw(rt, "task"))
}

func (c *chaos) anyAgent(rt *rapid.T) string {
	if len(c.b.s.agents) == 0 {
		return "nobody"
	}
	return rapid.SampledFrom(c.b.s.agents).Draw(rt, "agent").Agent
}

func (c *chaos) spawn(rt *rapid.T) {
	r := Spawn{
		By: rapid.SampledFrom([]string{Person, c.anyAgent(rt), c.b.lead()}).Draw(rt, "by"), Title: "t", Check: "c",
		Kind: rapid.SampledFrom([]Kind{KindWork, KindWork, KindPlan}).Draw(rt, "kind"),
		Crew: rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "crew"),
		Goal: rapid.SampledFrom([]string{"", "g"}).Draw(rt, "goal"),
	}
	if rapid.Bool().Draw(rt, "below") && r.By == Person {
		r.Parent = c.anyTask(rt)
	}
	if rapid.IntRange(0, 3).Draw(rt, "after") == 0 {
		r.After = []TaskID{c.anyTask(rt)}
	}
	if rapid.IntRange(0, 3).Draw(rt, "assumes") == 0 {
		r.Assumes = []TaskID{c.anyTask(rt)}
	}
	c.request(func(co *Coordinator) error { _, err := co.Spawn(c.b.t.Context(), r); return err })
}

func (c *chaos) ask(rt *rapid.T) {
	agent := c.anyAgent(rt)
	c.request(func(co *Coordinator) error {
		_, err := co.Ask(c.b.t.Context(), agent, "", "what?", nil)
		return err
	})
}

// person does something that a person may do.
func (c *chaos) person(rt *rapid.T) {
	ctx, task, agent := c.b.t.Context(), c.anyTask(rt), c.anyAgent(rt)
	other := c.anyTask(rt)
	requests := []func(*Coordinator) error{
		func(co *Coordinator) error { return co.Approve(ctx, "ada", "") },
		func(co *Coordinator) error { return co.Reject(ctx, "ada", "no") },
		func(co *Coordinator) error { return co.Answer(ctx, "ada", "q1", "so") },
		func(co *Coordinator) error { return co.Answer(ctx, "ada", "q2", "so") },
		func(co *Coordinator) error { return co.Pause(ctx, "ada", "") },
		func(co *Coordinator) error { return co.Resume(ctx, "ada") },
		func(co *Coordinator) error { _, err := co.Extend(ctx, "ada", Limits{Returns: 3}); return err },
		func(co *Coordinator) error { return co.Steer(ctx, "ada", agent, "x") },
		func(co *Coordinator) error { return co.Kill(ctx, "ada", agent, "x") },
		func(co *Coordinator) error { return co.Move(ctx, "ada", []string{agent}, "b") },
		func(co *Coordinator) error { return co.Park(ctx, "ada", task, "x") },
		func(co *Coordinator) error { return co.Reopen(ctx, "ada", task, "x") },
		func(co *Coordinator) error { return co.End(ctx, "ada", task, Dropped, "", "x") },
		func(co *Coordinator) error { return co.End(ctx, "ada", task, Superseded, other, "x") },
		func(co *Coordinator) error { return co.Estimate(ctx, "ada", task, 9, false, "x") },
		func(co *Coordinator) error {
			return co.Hot(ctx, Found{Path: fmt.Sprintf("f%d", task.number()%3), Size: 9})
		},
		func(co *Coordinator) error { return co.Full(ctx, "no room") },
		func(co *Coordinator) error { return co.Room(ctx) },
		func(co *Coordinator) error { return co.Measure(ctx, float64(task.number()*10)) },
		func(co *Coordinator) error { return co.SetActive(ctx, task.number()%4, "x") },
	}
	c.request(rapid.SampledFrom(requests).Draw(rt, "request"))
}

// fair has everything go well, and people do what is theirs, until the run ends.
func (c *chaos) fair(rt *rapid.T) {
	ctx := c.b.t.Context()
	c.request(func(co *Coordinator) error { return co.Resume(ctx, "ada") })
	c.request(func(co *Coordinator) error { return co.SetActive(ctx, 9, "") })
	for range 1000 {
		c.b.now = c.b.now.Add(time.Second)
		c.plan()
		c.invariants(rt)
		if c.b.s.finished != nil {
			return
		}
		c.request(func(co *Coordinator) error { return co.Approve(ctx, "ada", "") })
		for _, q := range c.b.s.Questions() {
			c.request(func(co *Coordinator) error { return co.Answer(ctx, "ada", q.Question, "so") })
		}
		if len(c.works) == 0 {
			continue
		}
		e := c.works[0]
		c.works = c.works[1:]
		k, _ := KeyOf(e)
		delete(c.b.running, k)
		if c.b.s.wants(k) {
			c.b.apply(c.outcome(e, 3))
		}
	}
	for _, t := range c.b.s.Tasks() {
		rt.Logf("%s %s below %s: %s %s, agent %s, after %v, assumes %v, parked %q, held %q, %d open, %d broken",
			t.ID(), t.Kind, t.Parent, t.Phase, t.Outcome, t.Agent, t.After, t.Assumes, t.Parked, t.held, t.open, t.broken)
	}
	rt.Fatal("a fair run does not end")
}

// replay folds the log again: the same state, and the same plan.
func (c *chaos) replay(rt *rapid.T) {
	s := NewState()
	for _, e := range c.b.log {
		if err := s.Apply(e); err != nil {
			rt.Fatal(err)
		}
	}
	if !reflect.DeepEqual(s.Tasks(), c.b.s.Tasks()) || !reflect.DeepEqual(s.Agents(), c.b.s.Agents()) {
		rt.Fatal("the log gives another state")
	}
	nothing := func(Key) bool { return false }
	if a, b := Plan(s, c.b.now, nothing), Plan(c.b.s, c.b.now, nothing); !reflect.DeepEqual(a, b) {
		rt.Fatalf("the log gives another plan: %+v, %+v", a, b)
	}
}

// invariants are what holds after each event.
func (c *chaos) invariants(rt *rapid.T) {
	s := c.b.s
	if len(c.b.log) == c.checked {
		return
	}
	c.checked = len(c.b.log)
	c.indexes(rt)
	g := s.Goals()
	if g.Total != g.Proved+g.Superseded+g.Dropped+g.Parked+g.Open {
		rt.Fatalf("goals %+v", g)
	}
	if a, b := Plan(s, c.b.now, c.b.busy), Plan(s, c.b.now, c.b.busy); !reflect.DeepEqual(a, b) {
		rt.Fatal("two plans differ")
	}
	leases := map[string]bool{}
	for _, e := range c.b.log {
		if e.Type == Events.Leased.Name() {
			p, err := Events.Leased.Decode(e)
			k := fmt.Sprintf("%s/%d", p.Task, p.Epoch)
			if err != nil || leases[k] {
				rt.Fatalf("%s leased twice", k)
			}
			leases[k] = true
		}
	}
}

// indexes compares what refresh keeps with what the tree says.
func (c *chaos) indexes(rt *rapid.T) {
	s := c.b.s
	var ready, todo order
	atWork, holders := 0, map[string]TaskID{}
	for _, t := range s.tasks[1:] {
		open := 0
		for _, id := range t.Children {
			if child := s.task(id); !child.Ended() && child.standstill() == "" {
				open++
			}
		}
		if t.open != open {
			rt.Fatalf("%s has %d open children, counts %d", t.ID(), open, t.open)
		}
		if t.Ended() && open > 0 {
			rt.Fatalf("%s has ended, with %d open tasks below", t.ID(), open)
		}
		if !t.parked() && s.dispatchable(t) {
			ready.add(t.place())
		}
		todo.set(t.num, !t.parked() && t.held == "" && t.pending())
		if (t.Phase == PhaseLeased || t.Phase == PhaseJudging) && !t.parked() && t.held == "" {
			atWork++
		}
		if t.Phase == PhaseLeased && t.Agent == "" || t.Phase == PhaseJudging && t.judge == "" {
			rt.Fatalf("%s is %s, by nobody", t.ID(), t.Phase)
		}
		for _, name := range []string{t.Agent, t.judge} {
			if name == "" {
				continue
			}
			if holders[name] != "" {
				rt.Fatalf("%s has %s and %s", name, holders[name], t.ID())
			}
			holders[name] = t.ID()
		}
		if (t.Kind == KindMerge) && t.Phase == PhaseLeased && t.excluded[t.Agent] {
			rt.Fatalf("%s is settled by %s, who made a side of it", t.ID(), t.Agent)
		}
	}
	if !slices.Equal(ready, s.ready) || !slices.Equal(todo, s.todo) || atWork != s.atWork {
		rt.Fatalf("ready %v, todo %v, %d at work; kept %v, %v, %d", ready, todo, atWork, s.ready, s.todo, s.atWork)
	}
	alive := 0
	for _, a := range s.agents {
		if a.Gone == "" {
			alive++
		}
		if a.Task != holders[a.Agent] {
			rt.Fatalf("%s has %q, the tasks say %q", a.Agent, a.Task, holders[a.Agent])
		}
		if idle := slices.Contains(s.idle[a.Role][a.Crew], a.num); idle != (a.Task == "" && a.Gone == "") {
			rt.Fatalf("%s: idle %v with %q, gone %q", a.Agent, idle, a.Task, a.Gone)
		}
	}
	if alive != s.Alive() {
		rt.Fatalf("%d alive, counts %d", alive, s.Alive())
	}
}
