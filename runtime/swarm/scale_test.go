package swarm

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"dure/runtime/event"
)

// large is a tree of 2,500 tasks to depth 10: planners in a chain, and each one's
// workers, a part of which wait for others.
func large(t testing.TB, agents int) *table {
	b := begin(t, func(p *Started) { p.Approval = false; p.Limits = Limits{Agents: agents, Active: agents} })
	b.settle()
	planner := Root
	for depth := range 10 {
		agent, next := b.task(planner).Agent, TaskID("")
		if depth < 9 {
			next = b.spawn(agent, Spawn{Title: fmt.Sprint("level ", depth+1), Kind: KindPlan})
		}
		for b.s.own < 2500*(depth+1)/10 {
			r := step(fmt.Sprintf("part %d", b.s.own))
			if n := b.s.own; n%3 == 0 {
				r.After = []TaskID{taskID(n - 1)}
			}
			b.spawn(agent, r)
		}
		b.report(planner, "planned")
		b.settle()
		planner = next
	}
	return b
}

// Row 24, its size; how long a query takes there is BenchmarkReady's to say.
func TestLargeTree(t *testing.T) {
	b := large(t, 1000)
	deepest := 0
	for _, task := range b.s.Tasks() {
		deepest = max(deepest, task.Depth)
	}
	if n := len(b.s.Tasks()); n != 2500 || deepest != 10 {
		t.Errorf("%d tasks to depth %d", n, deepest)
	}
	if _, err := b.admit(Person, step("one more")); err == nil {
		t.Error("there is one more")
	}
	names := map[string]bool{}
	for _, a := range b.s.Agents() {
		names[a.Agent] = true
	}
	if len(names) != 1010 || b.s.Active() != 1000 {
		t.Errorf("%d agents by name, %d at work", len(names), b.s.Active())
	}
}

// What a question about the queue, a plan and an event cost in a tree of 2,500 tasks.
func BenchmarkLargeTree(b *testing.B) {
	table := large(b, 500)
	percentile := func(b *testing.B, ask func()) {
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			ask()
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
	}
	b.Run("ready", func(b *testing.B) { percentile(b, func() { table.s.Ready(MainCrew) }) })
	b.Run("plan", func(b *testing.B) { percentile(b, func() { Plan(table.s, table.now, table.busy) }) })
	b.Run("cycle", func(b *testing.B) {
		percentile(b, func() { table.s.waitsFor(table.s.tasks[2], table.s.tasks[2499]) })
	})
	b.Run("fold", func(b *testing.B) {
		percentile(b, func() {
			s := NewState()
			for _, e := range table.log {
				if err := s.Apply(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// arriving is a World that only sees works arrive.
type arriving struct {
	World
	works chan Assignment
}

func (w arriving) Work(ctx context.Context, a Assignment) (Report, error) {
	w.works <- a
	<-ctx.Done()
	return Report{}, ctx.Err()
}

// Part of row 19: a run with 1,000 agents at work goes on with all of them. How long
// that takes is printed.
func TestResumeThousandAgents(t *testing.T) {
	b := large(t, 1000)
	for i := range b.log {
		b.log[i].ID, b.log[i].Stream = event.NewID(), Stream
	}
	log, w := &memory{events: b.log}, arriving{works: make(chan Assignment, 1000)}
	ctx, stop := context.WithCancel(t.Context())
	end := make(chan error, 1)
	start := time.Now()
	// The run's own clock stands where the run was left.
	c := New(log, w, func() time.Time { return b.now }, quiet)
	go func() {
		_, err := c.Run(ctx)
		end <- err
	}()
	before := b.atWork()
	for range 1000 {
		a := <-w.works
		if before[a.Task] != a.Agent {
			t.Fatalf("%s has %s, had %s", a.Task, a.Agent, before[a.Task])
		}
		delete(before, a.Task)
	}
	t.Logf("1,000 agents of a log of %d events went on after %v", len(b.log), time.Since(start))
	stop()
	<-end
	if log.size() != len(b.log) {
		t.Errorf("%d events were added", log.size()-len(b.log))
	}
}
