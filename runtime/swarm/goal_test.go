package swarm

import (
	"slices"
	"strings"
	"testing"
)

// Row 27: goals end proved, superseded or dropped, and the counts add up.
func TestGoalEndStates(t *testing.T) {
	goal := func(name string) Spawn { return Spawn{Title: name, Goal: name} }
	b := approved(t, func(p *Started) { p.Limits.Returns = 1 }, goal("a"), goal("b"), goal("c"), goal("d"), goal("e"), step("no goal"))
	b.finish("t2")
	b.apply(b.s.endings(Ended{Task: "t3", Outcome: Superseded, Instead: "t2", Reason: "the same", By: "ada"})...)
	b.apply(b.s.endings(Ended{Task: "t4", Outcome: Dropped, Reason: "not wanted", By: "ada"})...)
	b.apply(Parked{Task: "t5", By: "ada", Reason: "later"})
	want := Goals{Total: 5, Proved: 1, Superseded: 1, Dropped: 1, Parked: 1, Open: 1}
	if g := b.s.Goals(); g != want {
		t.Errorf("goals %+v, want %+v", g, want)
	}
	b.settle()
	b.finish("t7")
	for range 2 {
		b.report("t6", "cannot")
		b.settle()
		b.check("t6", false)
		b.settle()
	}
	b.report(Root, "done")
	b.settle()
	b.verify(true)
	b.settle()
	want = Goals{Total: 5, Proved: 1, Superseded: 1, Dropped: 3}
	if g := b.s.Goals(); g != want || b.s.Finished() == nil {
		t.Errorf("goals %+v, want %+v", g, want)
	}
	for _, id := range []TaskID{"t3", "t4", "t5", "t6"} {
		if b.task(id).Reason == "" {
			t.Errorf("%s ended without a reason", id)
		}
	}
}

// Row 25: a task may stand on others that are not proved; it is not final before.
func TestAssumeUnprovenBelow(t *testing.T) {
	b := approved(t, nil, step("lemma"), Spawn{Title: "theorem", Assumes: []TaskID{"t2"}}, Spawn{Title: "use", After: []TaskID{"t3"}})
	if a := b.s.assignment(b.s.task("t3")); !slices.Equal(a.Assumes, []TaskID{"t2"}) {
		t.Errorf("assumes %v", a.Assumes)
	}
	b.finish("t3")
	b.is("t3", PhaseLanded)
	if got := b.s.Assumptions(); !slices.Equal(got, []Assumption{{Task: "t3", On: "t2", Landed: true}}) {
		t.Errorf("open assumptions %+v", got)
	}
	b.begins()
	b.is("t4", PhaseWaiting)
	b.report("t2", "lemma proved")
	b.settle()
	b.check("t2", true)
	b.settle()
	b.land("t2")
	b.begins("work t4/1")
	b.ended("t3", Done)
	if got := b.s.Assumptions(); len(got) != 0 {
		t.Errorf("open assumptions %+v", got)
	}
}

// What stands on something that fails cannot be final, and what comes after it cannot
// start: both end, so that their planner can think again.
func TestBrokenDependencies(t *testing.T) {
	b := approved(t, nil, step("lemma"), Spawn{Title: "theorem", Assumes: []TaskID{"t2"}}, Spawn{Title: "use", After: []TaskID{"t2"}})
	b.apply(b.s.endings(Ended{Task: "t2", Outcome: Dropped, Reason: "false", By: "ada"})...)
	b.settle()
	b.ended("t3", Dropped)
	b.ended("t4", Dropped)
	if r := b.task("t3").Reason; !strings.Contains(r, "assumes t2") {
		t.Errorf("reason %q", r)
	}
	b.is(Root, PhaseLeased)
}

// Whoever waits for a superseded task waits for the one in its place.
func TestSupersededBy(t *testing.T) {
	b := approved(t, nil, step("slow"), step("fast"), Spawn{Title: "use", After: []TaskID{"t2"}})
	b.apply(b.s.endings(Ended{Task: "t2", Outcome: Superseded, Instead: "t3", Reason: "better", By: "ada"})...)
	b.begins()
	b.report("t3", "fast")
	b.settle()
	b.check("t3", true)
	b.settle()
	b.land("t3")
	b.begins("work t4/1")
}

// Row 23: a parked goal gives nothing to do; opened again it goes on with all below it.
func TestParkAndReopen(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Agents = 2 }, Spawn{Title: "goal", Kind: KindPlan, Goal: "g"}, step("other"))
	b.spawn(b.task("t2").Agent, step("below 1"))
	b.spawn(b.task("t2").Agent, step("below 2"))
	b.report("t2", "plan")
	b.begins("work t4/1")
	agent := b.task("t4").Agent
	b.apply(Parked{Task: "t2", By: "ada", Reason: "too dear"})
	b.begins()
	if b.s.Active() != 1 || b.running[Key{Verb: VerbWork, Task: "t4", Epoch: 1}] {
		t.Errorf("%d at work", b.s.Active())
	}
	if g := b.s.Goals(); g.Parked != 1 {
		t.Errorf("goals %+v", g)
	}
	b.report("t4", "it had been done") // it was too late to stop it
	b.begins()
	b.apply(Reopened{Task: "t2", By: "ada", Reason: "cheap now"})
	b.begins("check t4/1")
	b.finish("t3")
	if got := b.task("t5").Phase; got != PhaseLeased || b.task("t4").Agent != agent {
		t.Errorf("t5 is %s", got)
	}
}

// A run can end with a goal parked: it is dropped then, with the reason.
func TestParkedAtTheEnd(t *testing.T) {
	b := approved(t, nil, Spawn{Title: "goal", Goal: "g"}, step("other"))
	b.apply(Parked{Task: "t2", By: "ada", Reason: "too dear"})
	b.settle()
	b.finish("t3")
	if c := b.s.assignment(b.s.root()).Children; len(c) != 2 || c[0].Outcome != "" || c[0].Reason != "too dear" {
		t.Fatalf("the lead hears %+v", c)
	}
	b.report(Root, "done")
	b.settle()
	b.verify(true)
	b.settle()
	b.ended("t2", Dropped)
	if !strings.Contains(b.task("t2").Reason, "too dear") || b.s.Finished() == nil {
		t.Errorf("%+v", b.task("t2"))
	}
}

// A goal that was dropped comes back with all that was dropped because of it.
func TestReopenDropped(t *testing.T) {
	b := approved(t, nil, Spawn{Title: "goal", Kind: KindPlan, Goal: "g"}, step("other"))
	b.spawn(b.task("t2").Agent, step("done"))
	b.spawn(b.task("t2").Agent, step("open"))
	b.report("t2", "plan")
	b.settle()
	b.finish("t4")
	b.apply(b.s.endings(Ended{Task: "t2", Outcome: Dropped, Reason: "folded", By: "ada"})...)
	b.settle()
	b.ended("t5", Dropped)
	if err := b.s.mayReopen(b.s.task("t5")); err == nil {
		t.Error("a task below an ended one may be opened")
	}
	b.apply(Reopened{Task: "t2", By: "ada", Reason: "wrongly folded"})
	b.begins("work t2/2", "work t5/2")
	b.ended("t4", Done)
}

// Row 33: an estimate is made again when the models are twice as fast, once for each
// such change.
func TestEstimateIsAskedAgain(t *testing.T) {
	b := approved(t, nil, Spawn{Title: "goal", Goal: "g"}, step("other"))
	b.apply(Measured{Rate: 100}, Estimated{Task: "t2", By: b.lead(), Tokens: 1e9, Rate: 100, Reason: "too dear"},
		Parked{Task: "t2", By: b.lead(), Reason: "too dear"})
	b.begins()
	b.apply(Measured{Rate: 190})
	b.begins()
	b.apply(Measured{Rate: 200})
	works := b.settle()
	if len(works) != 1 {
		t.Fatalf("begins %q", keys(works))
	}
	if l := works[0].(Tell); l.Agent != b.lead() || !strings.Contains(l.Text, "not feasible") || !strings.Contains(l.Text, "200") {
		t.Errorf("tells %+v", l)
	}
	b.apply(Measured{Rate: 390})
	b.begins()
	b.apply(Measured{Rate: 100})
	if works := b.settle(); len(works) != 1 {
		t.Errorf("begins %q", keys(works))
	}
}
