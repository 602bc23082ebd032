package swarm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dure/runtime/event"
)

// table is a run without goroutines: a test plays the World and the people by applying
// what they do, and looks at what Plan gives.
type table struct {
	t       testing.TB
	s       *State
	now     time.Time
	log     []event.Event
	running map[Key]bool
	// decisions of all settles, by their type's name.
	decisions []Effect
}

var dawn = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// begin is a run whose lead is not at work yet.
func begin(t testing.TB, change func(*Started)) *table {
	t.Helper()
	p := Started{Spec: "make it so", Repo: "/repo", Base: "c0", Check: "make test", Approval: true}
	if change != nil {
		change(&p)
	}
	p.Limits = p.Limits.filled()
	if err := p.Limits.check(); err != nil {
		t.Fatal(err)
	}
	b := &table{t: t, s: NewState(), now: dawn, running: map[Key]bool{}}
	b.apply(p, Submitted{Task: Root, Kind: KindPlan, Title: "the specification", Check: p.Check, Crew: MainCrew, By: Person})
	return b
}

// approved is a run whose lead made these tasks, and whose plan was approved.
func approved(t testing.TB, change func(*Started), tasks ...Spawn) *table {
	t.Helper()
	b := begin(t, change)
	b.settle()
	for _, r := range tasks {
		b.spawn(b.lead(), r)
	}
	b.report(Root, "planned")
	b.settle()
	if b.s.Draft() == nil {
		t.Fatal("the lead's report made no draft")
	}
	if b.s.approved == nil {
		b.apply(Approved{By: "ada"})
	}
	b.settle()
	return b
}

func (b *table) lead() string { return b.task(Root).Agent }

func (b *table) apply(payloads ...any) {
	b.t.Helper()
	if err := b.try(payloads...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *table) try(payloads ...any) error {
	for _, p := range payloads {
		e, err := newEvent(b.now, p)
		if err != nil {
			return err
		}
		e.Sequence = b.s.last + 1
		if err := b.s.Apply(e); err != nil {
			return err
		}
		b.log = append(b.log, e)
	}
	return nil
}

func (b *table) busy(k Key) bool { return b.running[k] }

// settle decides until there is nothing to decide, and returns the works that begin.
func (b *table) settle() []Effect {
	b.t.Helper()
	for range 10000 {
		var works []Effect
		decided := false
		for _, e := range Plan(b.s, b.now, b.busy) {
			if _, ok := KeyOf(e); ok {
				works = append(works, e)
				continue
			}
			decided = true
			b.decisions = append(b.decisions, e)
			b.apply(b.s.decided(e)...)
		}
		if decided {
			continue
		}
		for k := range b.running {
			if !b.s.wants(k) {
				delete(b.running, k)
			}
		}
		for _, e := range works {
			k, _ := KeyOf(e)
			b.running[k] = true
		}
		return works
	}
	b.t.Fatal("there is always something more to decide")
	return nil
}

func (b *table) task(id TaskID) Task {
	b.t.Helper()
	t, ok := b.s.Task(id)
	if !ok {
		b.t.Fatalf("no task %s", id)
	}
	return t
}

// spawn takes a task in, with a check if it names none.
func (b *table) spawn(by string, r Spawn) TaskID {
	b.t.Helper()
	p, err := b.admit(by, r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.apply(p)
	return p.Task
}

func (b *table) admit(by string, r Spawn) (Submitted, error) {
	r.By = by
	if r.Check == "" {
		r.Check = "test " + r.Title
	}
	return b.s.admit(r)
}

func step(title string) Spawn { return Spawn{Title: title} }

func (b *table) report(id TaskID, summary string) {
	b.t.Helper()
	t := b.task(id)
	p := Reported{Task: id, Epoch: t.Epoch, Summary: summary}
	if t.Kind != KindPlan {
		p.Commit = fmt.Sprintf("%s-%d", id, t.Epoch)
	}
	b.apply(p)
}

func (b *table) check(id TaskID, passed bool) {
	b.t.Helper()
	t := b.task(id)
	b.apply(Checked{Task: id, Epoch: t.Epoch, Commit: t.Commit, Passed: passed, Output: ClipOutput("output of the check"), By: Harness})
}

func (b *table) verify(passed bool) {
	b.t.Helper()
	b.apply(Verified{Epoch: b.task(Root).Epoch, Commit: "m", Passed: passed, Output: ClipOutput("official output")})
}

func (b *table) land(id TaskID) {
	b.t.Helper()
	t := b.task(id)
	b.apply(Landed{Task: id, Epoch: t.Epoch, Commit: t.Commit, Main: "m"})
}

// finish brings a task that is at work to its end: done.
func (b *table) finish(id TaskID) {
	b.t.Helper()
	b.report(id, "did "+b.task(id).Title)
	b.settle()
	b.check(id, true)
	b.settle()
	if b.task(id).Kind != KindPlan {
		b.land(id)
		b.settle()
	}
}

func (b *table) is(id TaskID, phase Phase) {
	b.t.Helper()
	if got := b.task(id).Phase; got != phase {
		b.t.Fatalf("%s is %s, want %s", id, got, phase)
	}
}

func (b *table) ended(id TaskID, outcome Outcome) {
	b.t.Helper()
	if got := b.task(id); got.Phase != PhaseEnded || got.Outcome != outcome {
		b.t.Fatalf("%s is %s %s (%s), want it ended %s", id, got.Phase, got.Outcome, got.Reason, outcome)
	}
}

// keys are the works, as text.
func keys(works []Effect) []string {
	var out []string
	for _, e := range works {
		k, _ := KeyOf(e)
		switch k.Verb {
		case VerbTell:
			out = append(out, fmt.Sprintf("tell %s %s", k.Agent, k.Ref))
		default:
			out = append(out, fmt.Sprintf("%s %s/%d", k.Verb, k.Task, k.Epoch))
		}
	}
	return out
}

func (b *table) begins(want ...string) []Effect {
	b.t.Helper()
	works := b.settle()
	if got := keys(works); !slices.Equal(got, want) {
		b.t.Fatalf("begins %q, want %q", got, want)
	}
	return works
}

func (b *table) refuses(err error, parts ...string) {
	b.t.Helper()
	if err == nil {
		b.t.Fatal("it was granted")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			b.t.Fatalf("refused with %q, which does not say %q", err, part)
		}
	}
}

// atWork are the agents at work, by task.
func (b *table) atWork() map[TaskID]string {
	out := map[TaskID]string{}
	for _, t := range b.s.Tasks() {
		if t.Phase == PhaseLeased {
			out[t.ID()] = t.Agent
		}
	}
	return out
}
