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
