package swarm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Row 71: verification comes first.
func TestNoTaskWithoutCheck(t *testing.T) {
	b := begin(t, nil)
	b.settle()
	_, err := b.s.admit(Spawn{By: b.lead(), Title: "a parser"})
	b.refuses(err, "a parser", "no check")
	if !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

// Row 70: no worker starts before the plan is approved; a plan that is not goes back.
func TestNothingStartsBeforeApproval(t *testing.T) {
	b := begin(t, nil)
	b.begins("work t1/1")
	b.spawn(b.lead(), step("one"))
	b.spawn(b.lead(), Spawn{Title: "two", Kind: KindPlan})
	b.begins()
	b.report(Root, "the plan")
	b.begins()
	if d := b.s.Draft(); d == nil || d.Text != "the plan" {
		t.Fatalf("draft %+v", d)
	}
	b.apply(Rejected{By: "ada", Note: "too many tasks"})
	works := b.begins("work t1/2")
	if a := works[0].(Work).Assignment; !strings.Contains(a.Note, "too many tasks") || b.s.Draft() != nil {
		t.Errorf("the lead hears %q", a.Note)
	}
	b.report(Root, "a better plan")
	b.begins()
	b.apply(Approved{By: "ada"})
	b.begins("work t2/1", "work t3/1")
}

// Without a person the harness approves, and the log says so.
func TestApprovalWithoutPerson(t *testing.T) {
	b := begin(t, func(p *Started) { p.Approval = false })
	b.settle()
	b.spawn(b.lead(), step("one"))
	b.report(Root, "plan")
	b.begins("work t2/1")
	if a := b.s.Approval(); a == nil || a.By != Harness {
		t.Errorf("approved by %+v", a)
	}
}

// Row 34: what fails its check goes back to the same agent with the output, so often;
// then it fails and its planner is told, without the output.
func TestDoneByFailingCheckGoesBack(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Returns = 2 }, step("one"))
	agent := b.task("t2").Agent
	for epoch := 1; epoch <= 3; epoch++ {
		b.report("t2", "it works")
		b.begins(fmt.Sprintf("check t2/%d", epoch))
		b.check("t2", false)
		if epoch == 3 {
			break
		}
		works := b.begins(fmt.Sprintf("work t2/%d", epoch+1))
		a := works[0].(Work).Assignment
		if a.Agent != agent || a.Fresh || !strings.Contains(a.Note, "output of the check") || a.Commit == "" {
			t.Fatalf("epoch %d: %+v", epoch, a)
		}
	}
	works := b.begins("work t1/2")
	b.ended("t2", Failed)
	a := works[0].(Work).Assignment
	if len(a.Children) != 1 || a.Children[0].Outcome != Failed || !a.Children[0].New || a.Agent != b.lead() {
		t.Fatalf("the lead hears %+v", a.Children)
	}
	if strings.Contains(fmt.Sprintf("%+v", a), "output of the check") {
		t.Errorf("the planner sees what a worker's command printed: %+v", a)
	}
}

// Rows 26 and 34: the official check on main decides about the run; an early "done" of
// the lead comes back, and at last a person is asked.
func TestOfficialCheckDecides(t *testing.T) {
	b := begin(t, func(p *Started) { p.Limits.Returns = 1 })
	b.settle()
	b.report(Root, "all is done")
	works := b.begins("verify t1/1")
	if c := works[0].(Verify).Checking; c.Commit != "" || !slices.Equal(c.Checks, []string{"make test"}) {
		t.Fatalf("verifies %+v", c)
	}
	b.verify(false)
	works = b.begins("work t1/2")
	if a := works[0].(Work).Assignment; !strings.Contains(a.Note, "official output") {
		t.Errorf("the lead hears %q", a.Note)
	}
	b.report(Root, "now it is")
	b.settle()
	b.verify(false)
	b.begins()
	if q := b.s.Questions(); len(q) != 1 || !q[0].Holds || b.s.Finished() != nil {
		t.Fatalf("questions %+v", q)
	}
	b.apply(Answered{Question: "q1", By: "ada", Text: "try the other flag"})
	works = b.begins("work t1/3")
	if a := works[0].(Work).Assignment; !strings.Contains(a.Note, "try the other flag") {
		t.Errorf("the lead hears %q", a.Note)
	}
	b.report(Root, "done")
	b.settle()
	b.verify(true)
	b.begins()
	if f := b.s.Finished(); f == nil || f.Finish != FinishDone {
		t.Errorf("finished %+v", f)
	}
}

// An agent that ends otherwise than done is let go, and a fresh one goes on.
func TestAgentThatGivesUp(t *testing.T) {
	b := approved(t, nil, step("one"))
	was := b.task("t2")
	b.apply(Reported{Task: "t2", Epoch: 1, GaveUp: "it stopped calling tools", Commit: "half"})
	works := b.begins("work t2/2")
	a := works[0].(Work).Assignment
	if a.Agent == was.Agent || !a.Fresh || a.Commit != "half" || !strings.Contains(a.Note, "stopped calling tools") {
		t.Errorf("goes on with %+v", a)
	}
	if old, _ := b.s.Agent(was.Agent); old.Gone == "" {
		t.Errorf("%s is still there", old.Agent)
	}
}

// The lead can be lost, too.
func TestLeadThatIsKilled(t *testing.T) {
	b := approved(t, nil, step("one"))
	was := b.lead()
	b.apply(Dismissed{Agent: was, By: "ada", Reason: "goes in circles"})
	b.finish("t2")
	if b.lead() == was || b.lead() == "" {
		t.Fatalf("the lead is %q", b.lead())
	}
	b.report(Root, "done")
	b.settle()
	b.verify(true)
	b.settle()
	if b.s.Finished() == nil {
		t.Error("the run did not finish")
	}
}

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

// Row 24: cycles, too deep and too large trees are refused with a reason.
func TestTreeIsBounded(t *testing.T) {
	b := begin(t, func(p *Started) { p.Limits.Tasks, p.Approval = 5, false })
	b.settle()
	b.spawn(b.lead(), Spawn{Title: "left", Kind: KindPlan})
	b.spawn(b.lead(), Spawn{Title: "right", Kind: KindPlan})
	b.report(Root, "plan")
	b.settle()
	left, right := b.task("t2").Agent, b.task("t3").Agent
	_, err := b.admit(left, Spawn{Title: "x", After: []TaskID{"t1"}})
	b.refuses(err, "cycle", "t1")
	_, err = b.admit(left, Spawn{Title: "x", Assumes: []TaskID{"t2"}})
	b.refuses(err, "cycle", "t2")
	b.spawn(left, Spawn{Title: "x", After: []TaskID{"t3"}})
	_, err = b.admit(right, Spawn{Title: "y", After: []TaskID{"t2"}})
	b.refuses(err, "cycle", "t3")
	_, err = b.admit(right, Spawn{Title: "y", After: []TaskID{"t9"}})
	b.refuses(err, "t9")
	b.spawn(left, step("fifth"))
	_, err = b.admit(left, step("sixth"))
	b.refuses(err, "5 tasks")

	b = begin(t, func(p *Started) { p.Limits.Depth, p.Approval = 2, false })
	b.settle()
	b.spawn(b.lead(), Spawn{Title: "left", Kind: KindPlan})
	b.report(Root, "plan")
	b.settle()
	b.spawn(b.task("t2").Agent, Spawn{Title: "below", Kind: KindPlan})
	b.report("t2", "plan")
	b.settle()
	_, err = b.admit(b.task("t3").Agent, step("too deep"))
	b.refuses(err, "depth 2")
}

// Row 37: workers and planners whose turn it is not make no tasks.
func TestOnlyPlannersSpawn(t *testing.T) {
	b := approved(t, nil, step("one"))
	_, err := b.admit(b.task("t2").Agent, step("more"))
	b.refuses(err, "no plan task")
	_, err = b.admit(b.lead(), step("more")) // it rests
	b.refuses(err, "no plan task")
	_, err = b.admit("nobody", step("more"))
	b.refuses(err, "nobody")
	b.spawn(Person, step("a person may"))
}

// Row 21: crews have a lead, and a worker gets the queue of its own crew first.
func TestCrewsAndTheirQueues(t *testing.T) {
	b := begin(t, func(p *Started) { p.Approval, p.Limits.Agents = false, 2 })
	b.settle()
	b.spawn(b.lead(), Spawn{Title: "algebra", Kind: KindPlan, Crew: "algebra"})
	b.spawn(b.lead(), Spawn{Title: "analysis", Kind: KindPlan, Crew: "analysis"})
	b.report(Root, "plan")
	b.settle()
	for _, id := range []TaskID{"t2", "t3"} {
		for i := range 3 {
			b.spawn(b.task(id).Agent, step(fmt.Sprintf("%s %d", id, i)))
		}
		b.report(id, "plan")
	}
	b.begins("work t4/1", "work t5/1") // two workers, hired for the head of the queue
	b.apply(Moved{Agents: []string{b.task("t5").Agent}, Crew: "analysis", By: "ada"})
	crews := b.s.Crews()
	if len(crews) != 3 || crews[0].Name != "algebra" || crews[0].Lead != b.task("t2").Agent || crews[1].Lead != b.task("t3").Agent {
		t.Fatalf("crews %+v", crews)
	}
	algebra, analysis := b.task("t4").Agent, b.task("t5").Agent
	b.report("t4", "")
	b.report("t5", "")
	b.settle()
	b.check("t4", true)
	b.check("t5", true)
	b.settle()
	b.land("t5")
	b.begins("work t7/1")
	b.land("t4")
	b.begins("work t6/1")
	if b.task("t6").Agent != algebra || b.task("t7").Agent != analysis {
		t.Errorf("t6 has %s, t7 %s", b.task("t6").Agent, b.task("t7").Agent)
	}
	if got := b.s.Ready("analysis"); !slices.Equal(got, []TaskID{"t8", "t9"}) {
		t.Errorf("the queue of analysis: %v", got)
	}
}

// Row 22: 300 of 500 agents move; what they are working on goes on under the same
// lease.
func TestMoveCrews(t *testing.T) {
	b := begin(t, func(p *Started) { p.Approval, p.Limits.Agents = false, 500 })
	b.settle()
	for i := range 600 {
		b.spawn(b.lead(), step(fmt.Sprint(i)))
	}
	b.report(Root, "plan")
	if n := len(b.settle()); n != 500 {
		t.Fatalf("%d began", n)
	}
	before := b.atWork()
	var names []string
	for _, a := range b.s.Agents() {
		if a.Role == RoleWorker && len(names) < 300 {
			names = append(names, a.Agent)
		}
	}
	b.apply(Moved{Agents: names, Crew: "other", By: "ada"})
	b.begins()
	if after := b.atWork(); len(after) != 500 || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("work was lost by the move")
	}
	for id := range before {
		b.report(id, "")
		b.settle()
		b.check(id, true)
		b.settle()
		b.land(id)
	}
	b.settle()
	for id := range before {
		b.ended(id, Done)
	}
	if n := len(b.s.Crews()[1].Agents); n != 300 {
		t.Errorf("%d agents in the other crew", n)
	}
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

// Row 29: no agent is idle for longer than half a minute while a task is ready.
func TestNoIdling(t *testing.T) {
	b := begin(t, func(p *Started) { p.Approval, p.Limits.Agents = false, 1 })
	b.settle()
	b.spawn(b.lead(), Spawn{Title: "mine", Crew: "a"})
	b.spawn(b.lead(), Spawn{Title: "theirs", Crew: "b"})
	b.report(Root, "plan")
	b.begins("work t2/1")
	agent := b.task("t2").Agent
	b.finish("t2")
	b.now = b.now.Add(29 * time.Second)
	b.begins()
	if at := b.s.Wake(b.now); !at.Equal(b.now.Add(time.Second)) {
		t.Fatalf("wakes at %v", at)
	}
	b.now = b.now.Add(time.Second)
	b.begins("work t3/1")
	if got := b.task("t3").Agent; got != agent {
		t.Errorf("%s has it", got)
	}
}

// Row 18: each mark is told once to each agent.
func TestTimeLeft(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Time = time.Hour }, step("one"), Spawn{Title: "two", After: []TaskID{"t2"}})
	if at := b.s.Wake(b.now); !at.Equal(dawn.Add(10 * time.Minute)) { // the first checklist
		t.Errorf("wakes at %v", at)
	}
	told := map[string]int{}
	for b.s.Finished() == nil {
		b.now = b.now.Add(time.Minute)
		for _, e := range b.settle() {
			if tell, ok := e.(Tell); ok {
				if strings.HasPrefix(tell.Ref, "time/") {
					told[tell.Agent+" "+tell.Ref]++
				}
				b.apply(Delivered{Agent: tell.Agent, Ref: tell.Ref})
			}
		}
	}
	if len(told) != 2*4 {
		t.Errorf("told %v", told)
	}
	for what, n := range told {
		if n != 1 {
			t.Errorf("%s %d times", what, n)
		}
	}
	if f := b.s.Finished(); f.Finish != FinishTime || !b.now.Equal(dawn.Add(time.Hour)) {
		t.Errorf("finished %+v at %v", f, b.now)
	}
}

// Pauses do not count, and nothing new begins in one.
func TestPause(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Time = time.Hour }, step("one"))
	b.apply(Paused{By: "ada", Reason: "lunch"})
	b.report("t2", "")
	b.now = b.now.Add(2 * time.Hour)
	b.begins()
	b.apply(Steered{Agent: b.lead(), By: "ada", Text: "hello", Ref: "steer/9"})
	b.begins("tell " + b.lead() + " steer/9") // it can still be spoken to
	b.apply(Resumed{By: "ada"})
	b.begins("check t2/1")
	if at := b.s.Deadline(); !at.Equal(dawn.Add(3 * time.Hour)) {
		t.Errorf("deadline %v", at)
	}
}

// Row 65: a checklist after so many turns, or so many minutes without one.
func TestChecklist(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.ChecklistTurns, p.Limits.ChecklistIdle = 5, 10*time.Minute }, step("one"))
	agent := b.task("t2").Agent
	for turn := 1; turn <= 10; turn++ {
		b.now = b.now.Add(time.Minute)
		b.s.Pulse(agent, turn, b.now)
		var want []string
		if turn%5 == 0 {
			want = []string{fmt.Sprintf("tell %s checklist/%d", agent, turn/5)}
		}
		b.begins(want...)
	}
	b.now = b.now.Add(9 * time.Minute)
	b.begins()
	b.now = b.now.Add(time.Minute)
	b.begins("tell " + agent + " checklist/3")
	b.now = b.now.Add(9 * time.Minute)
	b.begins()
	b.now = b.now.Add(time.Minute)
	b.begins("tell " + agent + " checklist/4")
}

// Row 20: a run that is out of time goes on when it gets more, with the same agents.
func TestExtend(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Time = time.Hour }, step("one"), step("two"))
	b.report("t3", "")
	before := b.atWork()
	b.now = b.now.Add(time.Hour)
	b.begins()
	if f := b.s.Finished(); f == nil || f.Finish != FinishTime {
		t.Fatalf("finished %+v", f)
	}
	if _, err := b.s.extension("ada", Limits{Agents: 9}); err == nil {
		t.Error("a run without time goes on without more")
	}
	b.now = b.now.Add(24 * time.Hour)
	p, err := b.s.extension("ada", Limits{Time: 12 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	b.apply(p)
	b.begins("work t2/1", "check t3/1")
	if fmt.Sprint(b.atWork()) != fmt.Sprint(before) {
		t.Error("not the same agents")
	}
	if at := b.s.Deadline(); !at.Equal(b.now.Add(12 * time.Hour)) {
		t.Errorf("deadline %v, now %v", at, b.now)
	}
}

// A run that was done goes back to its lead when it is extended.
func TestExtendWhatIsDone(t *testing.T) {
	b := approved(t, nil, step("one"))
	b.finish("t2")
	b.report(Root, "done")
	b.settle()
	b.verify(true)
	b.settle()
	lead := b.lead()
	p, err := b.s.extension("ada", Limits{Returns: 5})
	if err != nil {
		t.Fatal(err)
	}
	b.apply(p)
	b.begins("work t1/3")
	if b.lead() != lead {
		t.Errorf("%s leads, it was %s", b.lead(), lead)
	}
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

// The limit of agents at work follows what the model server has room for.
func TestActiveFollowsTheServer(t *testing.T) {
	var tasks []Spawn
	for i := range 10 {
		tasks = append(tasks, step(fmt.Sprint(i)))
	}
	b := approved(t, func(p *Started) { p.Limits.Active, p.Limits.Agents = 4, 10 }, tasks...)
	if b.s.Active() != 4 {
		t.Fatalf("%d at work", b.s.Active())
	}
	b.apply(Activated{Active: 2, Reason: "the context is short"})
	b.report("t2", "")
	b.report("t3", "")
	b.begins("check t2/1", "check t3/1")
	b.report("t4", "")
	b.begins("check t4/1", "work t6/1")
	b.apply(Activated{Active: 9})
	b.settle()
	if b.s.Active() != 4 { // never more than the run may have
		t.Errorf("%d at work", b.s.Active())
	}
	if b.s.Alive() <= b.s.Active() {
		t.Errorf("%d alive, %d active", b.s.Alive(), b.s.Active())
	}
}

// Merges go before verdicts, and verdicts before work.
func TestPriorities(t *testing.T) {
	b := approved(t, func(p *Started) { p.Judge, p.Limits.Active = true, 2 }, step("one"), step("two"), step("three"), step("four"))
	b.report("t2", "")
	b.report("t3", "")
	b.apply(Activated{Active: 0})
	b.settle()
	b.check("t2", true)
	b.check("t3", true)
	b.settle()
	b.apply(Activated{Active: 1})
	b.begins("judge t2/2")
	b.apply(Judged{Task: "t2", Epoch: 2, Agent: b.s.task("t2").judge, Passed: true, Text: "good", Cites: "ok"})
	b.apply(Activated{Active: 0})
	b.begins("land t2/2")
	b.apply(Conflicted{Task: "t2", Epoch: 2, Commit: "c", Conflict: "x1", With: []Side{{Agent: "z"}}, Detail: "a.go"})
	b.begins()
	got := b.s.Ready("")
	if want := []TaskID{"t6", "t3", "t4", "t5"}; !slices.Equal(got, want) {
		t.Errorf("queue %v, want %v", got, want)
	}
}

// Row 64: nothing lands without a verdict that cites the check's output; a judge that
// comes to none is followed by another, and not for ever.
func TestJudge(t *testing.T) {
	b := approved(t, func(p *Started) { p.Judge, p.Limits.Returns = true, 1 }, step("one"), step("two"))
	b.report("t2", "I did it")
	b.settle()
	b.check("t2", true)
	works := b.begins("judge t2/2")
	a := works[0].(Judge).Assignment
	if a.Agent == b.task("t2").Author || a.Role != RoleJudge || a.Report.Summary != "I did it" || a.Check == nil {
		t.Fatalf("judges with %+v", a)
	}
	b.apply(Judged{Task: "t2", Epoch: 2, Agent: a.Agent, Passed: true, Text: "looks good"}) // cites nothing
	b.begins("judge t2/3")
	b.apply(Judged{Task: "t2", Epoch: 3, Agent: a.Agent, Text: "no tests", Cites: "0 tests"})
	works = b.begins("work t2/4")
	if w := works[0].(Work).Assignment; w.Agent != b.task("t2").Author || !strings.Contains(w.Note, "0 tests") {
		t.Errorf("goes back as %+v", w)
	}
	b.report("t3", "")
	b.settle()
	b.check("t3", true)
	for epoch := 2; epoch <= 3; epoch++ {
		b.begins(fmt.Sprintf("judge t3/%d", epoch))
		b.apply(Judged{Task: "t3", Epoch: epoch, Agent: a.Agent, GaveUp: "too many turns"})
	}
	b.begins()
	b.ended("t3", Failed)
}

// Row 44: a conflict goes to an agent that wrote neither side, with both checks.
func TestConflictIsSettledByNeutral(t *testing.T) {
	b := approved(t, nil, step("one"), step("two"))
	b.finish("t2")
	one := b.task("t2").Author
	b.report("t3", "")
	b.settle()
	b.check("t3", true)
	b.settle()
	b.apply(Conflicted{Task: "t3", Epoch: 1, Commit: "t3-1", Conflict: "x1", With: []Side{{Agent: one, Task: "t2"}}, Detail: "both changed a.go"})
	works := b.begins("work t4/1")
	a := works[0].(Work).Assignment
	if a.Role != RoleMerger || a.Agent == one || a.Agent == b.task("t3").Author {
		t.Fatalf("merges with %+v", a)
	}
	if !slices.Equal(a.Checks, []string{"test two", "test one"}) || a.Conflict.Conflict != "x1" || len(a.Conflict.Texts) != 2 {
		t.Errorf("merges with %+v, %+v", a, a.Conflict)
	}
	// It conflicts again: another merger, since the first wrote this side.
	b.report("t4", "merged")
	b.settle()
	b.check("t4", true)
	b.settle()
	b.apply(Conflicted{Task: "t4", Epoch: 1, Commit: "t4-1", Conflict: "x2", With: []Side{{Agent: one, Task: "t2"}}, Detail: "again"})
	works = b.begins("work t4/2")
	if again := works[0].(Work).Assignment; again.Agent == a.Agent || again.Agent == one || again.Conflict.Conflict != "x2" {
		t.Errorf("merges with %+v", again)
	}
	b.report("t4", "merged")
	b.settle()
	b.check("t4", true)
	works = b.settle()
	if l := works[0].(Land).Landing; l.Conflict != "x2" {
		t.Errorf("lands %+v", l)
	}
	b.land("t4")
	b.begins("work t1/2")
	b.ended("t4", Done)
	b.ended("t3", Done)
}

// A merge that fails gives the task back, to be done on main as it is now.
func TestMergeThatFails(t *testing.T) {
	b := approved(t, func(p *Started) { p.Limits.Returns = 1 }, step("one"))
	for epoch := 1; epoch <= 2; epoch++ {
		b.report("t2", "")
		b.settle()
		b.check("t2", true)
		b.settle()
		b.apply(Conflicted{Task: "t2", Epoch: epoch, Commit: "c", Conflict: fmt.Sprint("x", epoch), Detail: "a.go"})
		b.settle()
		m := b.s.task("t2").merging
		b.apply(Ended{Task: m, Outcome: Failed, Reason: "too hard", By: Harness})
		if epoch == 1 {
			works := b.begins("work t2/2")
			if a := works[0].(Work).Assignment; !a.Fresh || !strings.Contains(a.Note, "too hard") {
				t.Errorf("goes back as %+v", a)
			}
		}
	}
	b.settle()
	b.ended("t2", Failed)
}

// The landing job may not take a commit: its author mends that.
func TestLandingIsRefused(t *testing.T) {
	b := approved(t, nil, step("one"))
	b.report("t2", "")
	b.settle()
	b.check("t2", true)
	b.settle()
	b.apply(Refused{Task: "t2", Epoch: 1, Commit: "c", Reason: "a file of 300 MiB"})
	works := b.begins("work t2/2")
	if a := works[0].(Work).Assignment; !strings.Contains(a.Note, "300 MiB") || a.Agent != b.task("t2").Author {
		t.Errorf("goes back as %+v", a)
	}
}

// Row 37: planners have planners; each is asked again when its own tasks have ended.
func TestRecursivePlanners(t *testing.T) {
	b := approved(t, nil, Spawn{Title: "half", Kind: KindPlan})
	b.spawn(b.task("t2").Agent, step("one"))
	b.report("t2", "split it")
	b.begins("work t3/1")
	b.report("t3", "one is there")
	b.settle()
	b.check("t3", true)
	b.settle()
	b.land("t3")
	works := b.begins("work t2/2")
	a := works[0].(Work).Assignment
	if a.Parent != b.lead() || len(a.Children) != 1 || a.Children[0].Summary != "one is there" {
		t.Fatalf("the planner hears %+v", a)
	}
	b.report("t2", "half is there")
	works = b.begins("check t2/2")
	if c := works[0].(Check).Checking; c.Commit != "" { // on main
		t.Errorf("checks %+v", c)
	}
	b.check("t2", true)
	b.begins("work t1/2")
	b.ended("t2", Done)
}

// A task that comes while its parent is being checked takes the parent's word back.
func TestTaskThatComesLate(t *testing.T) {
	b := approved(t, nil, step("one"))
	b.finish("t2")
	b.report(Root, "done")
	b.begins("verify t1/2")
	b.spawn(Person, step("one more thing"))
	b.begins("work t3/1")
	if err := b.try(Verified{Epoch: 2, Passed: true}); err == nil {
		t.Error("the check of before counts")
	}
}

// Row 74: the answer to a question reaches its agent once; the run goes on meanwhile.
func TestQuestions(t *testing.T) {
	b := approved(t, nil, step("one"), step("two"))
	agent := b.task("t2").Agent
	b.apply(Asked{Question: "q1", Agent: agent, Task: "t2", Text: "tabs or spaces?", Options: []string{"tabs", "spaces"}})
	b.finish("t3")
	b.apply(Answered{Question: "q1", By: "ada", Text: "tabs"})
	works := b.begins("tell " + agent + " answer/q1")
	if l := works[0].(Tell); l.From != Person || !strings.Contains(l.Text, "tabs or spaces?") {
		t.Errorf("tells %+v", l)
	}
	b.begins()
	b.apply(Delivered{Agent: agent, Ref: "answer/q1"})
	if len(b.s.Letters()) != 0 {
		t.Error("it is told again")
	}
	if err := b.try(Answered{Question: "q1", By: "ada", Text: "spaces"}); err == nil {
		t.Error("a question has two answers")
	}
}

// Row 62: names are mathematicians', distinct, and the same in every process.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for n := range 1500 {
		name := Name(n)
		if seen[name] || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			t.Errorf("name %d is %q", n, name)
		}
		seen[name] = true
	}
	if Name(0) != "noether" || Name(1) != "gauss" || Name(len(mathematicians)) != "noether2" {
		t.Error(Name(0), Name(1), Name(len(mathematicians)))
	}
}

// Old epochs have no say.
func TestOldEpochs(t *testing.T) {
	b := approved(t, nil, step("one"))
	b.report("t2", "")
	b.settle()
	b.check("t2", false)
	b.settle()
	for _, p := range []any{
		Reported{Task: "t2", Epoch: 1, Commit: "c"},
		Checked{Task: "t2", Epoch: 1, Passed: true},
		Landed{Task: "t2", Epoch: 2},
		Leased{Task: "t2", Epoch: 3, Agent: b.lead(), Role: RoleWorker},
	} {
		if err := b.try(p); err == nil {
			t.Errorf("%+v counts", p)
		}
	}
}
