package swarm

import "fmt"

// settle goes through the tasks that need no agent to go on: works that are due, and
// decisions about what came of them. It reports whether it got to the end: an end of a
// task changes others, so that it is the last of its pass.
func (p *planning) settle() bool {
	for _, n := range p.s.todo {
		if end, ok := p.settleTask(p.s.tasks[n]); ok {
			p.decide(end)
			return false
		}
	}
	return true
}

func (p *planning) settleTask(t *Task) (End, bool) {
	if t.broken > 0 {
		return p.end(t, Dropped, p.s.brokenBy(t)), true
	}
	switch t.Phase {
	case PhaseLeased:
		p.remindChecklist(t)
		p.work(Key{Verb: VerbWork, Task: t.ID(), Epoch: t.Epoch}, func() Effect { return Work{p.s.assignment(t)} })
	case PhaseJudging:
		p.work(Key{Verb: VerbJudge, Task: t.ID(), Epoch: t.Epoch}, func() Effect { return Judge{p.s.assignment(t)} })
	case PhaseReported:
		p.check(t)
	case PhaseAccepted:
		p.work(Key{Verb: VerbLand, Task: t.ID(), Epoch: t.Epoch}, func() Effect { return Land{p.s.landing(t)} })
	case PhaseRejected:
		return p.comeBack(t)
	case PhaseChecked:
		if t.judgings > p.s.limits.Returns {
			return p.end(t, Failed, fmt.Sprintf("%d judges came to no verdict", t.judgings)), true
		}
	case PhaseConflict:
		return p.merge(t)
	case PhaseLanded:
		// With an assumption open, a task is not final: it is not pending then.
		return p.end(t, Done, ""), true
	}
	return End{}, false
}

func (p *planning) end(t *Task, o Outcome, reason string) End {
	return End{Ended{Task: t.ID(), Outcome: o, Reason: reason, By: Harness}}
}

// brokenBy says what a task waits for in vain.
func (s *State) brokenBy(t *Task) string {
	for _, id := range t.After {
		if dep := s.task(id); dep.Ended() && dep.Outcome != Done {
			return fmt.Sprintf("it comes after %s, which is %s", id, dep.Outcome)
		}
	}
	for _, id := range t.Assumes {
		if dep := s.task(id); dep.Ended() && dep.Outcome != Done {
			return fmt.Sprintf("it assumes %s, which is %s", id, dep.Outcome)
		}
	}
	return ""
}

// check runs what decides: of the root the official check on a clean checkout of main,
// of other tasks their own.
func (p *planning) check(t *Task) {
	c := Checking{Task: t.ID(), Epoch: t.Epoch, Commit: t.Commit, Checks: p.s.checks(t)}
	if t.ID() == Root {
		p.work(Key{Verb: VerbVerify, Task: t.ID(), Epoch: t.Epoch}, func() Effect { return Verify{c} })
		return
	}
	p.work(Key{Verb: VerbCheck, Task: t.ID(), Epoch: t.Epoch}, func() Effect { return Check{c} })
}

// comeBack decides about a task that was not accepted. It goes back to its agent, so
// often; then it fails, and its planner hears of it. The root does not fail: a person is
// asked.
func (p *planning) comeBack(t *Task) (End, bool) {
	switch {
	case t.Returns < p.s.limits.Returns:
		fresh := t.gaveUp || t.Agent == "" || t.excluded[t.Agent]
		p.decide(Return{Returned{Task: t.ID(), Epoch: t.Epoch, Reason: t.rejection, Fresh: fresh, Fault: true}})
		if t.gaveUp && t.Agent != "" {
			p.decide(Dismiss{Dismissed{Agent: t.Agent, By: Harness, Reason: t.why}})
		}
	case t.ID() == Root:
		p.decide(Escalate{Asked{
			Question: p.s.nextQuestion(), Task: Root, Holds: true, Ref: fmt.Sprintf("escalated/%d", t.Epoch),
			Text: clip(fmt.Sprintf("The run came back to its lead %d times, and is not done: %s\nWhat is to be done?", t.Returns, t.rejection), MaxText),
		}})
	default:
		return p.end(t, Failed, fmt.Sprintf("given up after it came back %d times: %s", t.Returns, t.why)), true
	}
	return End{}, false
}

// merge has a neutral agent settle a conflict, and ends the task when that is done.
func (p *planning) merge(t *Task) (End, bool) {
	m := p.s.task(t.merging)
	switch {
	case m == nil:
		p.decide(Submit{p.s.mergeTask(t, taskID(len(p.s.tasks)+p.submitted()))})
	case !m.Ended() || m.Outcome == Done && t.unproven > 0:
	case m.Outcome == Done:
		return p.end(t, Done, fmt.Sprintf("landed by %s", m.ID())), true
	case t.Returns >= p.s.limits.Returns:
		return p.end(t, Failed, fmt.Sprintf("%s did not settle its conflict: %s", m.ID(), m.Reason)), true
	default:
		p.decide(Return{Returned{
			Task: t.ID(), Epoch: t.Epoch, Fresh: true, Fault: true,
			Reason: clip(fmt.Sprintf("It conflicted with main, and %s did not settle that (%s). Do it again on main as it is now. %s", m.ID(), m.Reason, t.Merge.Detail), MaxText),
		}})
	}
	return End{}, false
}

// submitted is how many tasks this pass made.
func (p *planning) submitted() int {
	n := 0
	for _, e := range p.effects {
		if _, ok := e.(Submit); ok {
			n++
		}
	}
	return n
}

func (s *State) mergeTask(t *Task, id TaskID) Submitted {
	return Submitted{
		Task: id, Kind: KindMerge, Parent: t.ID(), Crew: t.Crew, By: Harness, Check: t.Submitted.Check,
		Title: head("merge: "+t.Title, MaxTitle),
		Text:  clip(t.Merge.Detail, MaxText),
	}
}
