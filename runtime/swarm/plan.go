package swarm

import (
	"fmt"
	"time"
)

// planning is one call of Plan.
type planning struct {
	s       *State
	now     time.Time
	running func(Key) bool
	effects []Effect
	// What this call gave out already.
	hired map[Role]int
	taken map[string]bool
}

// Plan says what to do now. It changes nothing; the same state and time give the same
// effects in the same order. running says which works are under way: those are not
// given again.
//
// Decisions are to be applied in their order, and Plan to be called again, until it
// gives works only: what a decision means for others, the next call finds.
func Plan(s *State, now time.Time, running func(Key) bool) []Effect {
	if s.started == nil || s.finished != nil {
		return nil
	}
	p := &planning{s: s, now: now, running: running, hired: map[Role]int{}, taken: map[string]bool{}}
	p.tell()
	if s.paused != nil || p.conclude() {
		return p.effects
	}
	p.approve()
	if p.settle() {
		p.split()
		p.mend()
		p.remindTime()
		p.reask()
		p.lease()
	}
	return p.effects
}

func (p *planning) decide(e Effect) { p.effects = append(p.effects, e) }

// work gives a work that is not under way.
func (p *planning) work(k Key, make func() Effect) {
	if !p.running(k) {
		p.effects = append(p.effects, make())
	}
}

func (p *planning) tell() {
	for _, l := range p.s.letters {
		p.work(Key{Verb: VerbTell, Agent: l.Agent, Ref: l.Ref}, func() Effect { return Tell{l} })
	}
}

// conclude finishes the run when the root is done, which the official check decided, or
// when there is no time left.
func (p *planning) conclude() bool {
	limits := p.s.limits
	switch {
	case p.s.root().Outcome == Done:
		p.decide(Conclude{Finished{Finish: FinishDone, By: Harness}})
	case limits.Time > 0 && p.s.spent(p.now) >= limits.Time:
		p.decide(Conclude{Finished{Finish: FinishTime, Reason: fmt.Sprintf("the run had %v", limits.Time), By: Harness}})
	default:
		return false
	}
	return true
}

// approve takes the lead's first report with tasks for the plan, and approves it where
// no person is asked to.
func (p *planning) approve() {
	s, root := p.s, p.s.root()
	switch {
	case s.approved != nil || root.Phase != PhaseResting || root.parked():
	case s.draft == nil:
		text := root.Report.Plan
		if text == "" {
			text = root.Report.Summary
		}
		p.decide(Draft{Drafted{Epoch: root.Epoch, Text: text}})
	case !s.started.Approval:
		p.decide(Approve{Approved{By: Harness, Note: "the run needs no person's approval"}})
	}
}

// reask has estimates made anew that rest on a speed which is half or double by now: a
// goal that was too dear may be cheap, and the other way round.
func (p *planning) reask() {
	const apart = 2
	for _, n := range p.s.doubted {
		t := p.s.tasks[n]
		was, is := t.Doubt.Rate, p.s.rate
		if was > 0 && is > 0 && (is >= apart*was || was >= apart*is) {
			p.decide(ReAskFeasibility{Reasked{Task: t.ID(), Rate: is}})
		}
	}
}

// reaskLetter goes to the planner of the task, who can open it again or estimate anew.
func (s *State) reaskLetter(t *Task, p Reasked) (Letter, bool) {
	above := t.planner()
	for above != nil && above.Agent == "" {
		above = above.planner()
	}
	if above == nil {
		return Letter{}, false
	}
	verdict := "feasible"
	if !t.Doubt.Feasible {
		verdict = "not feasible"
	}
	return Letter{
		Agent: above.Agent, Ref: fmt.Sprintf("feasible/%s/%d", t.ID(), s.last), From: Harness,
		Text: fmt.Sprintf("%s (%s) was held to be %s, for %d tokens. The models write %.4g tokens a second now. Give the estimate again, and open or park the task accordingly.",
			t.ID(), t.Title, verdict, t.Doubt.Tokens, p.Rate),
	}, true
}
