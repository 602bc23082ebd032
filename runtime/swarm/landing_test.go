package swarm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

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
