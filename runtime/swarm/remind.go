package swarm

import (
	"fmt"
	"time"
)

// passed are the marks of time left that are behind.
func (s *State) passed(now time.Time) []time.Duration {
	if s.limits.Time == 0 {
		return nil
	}
	left := s.limits.Time - s.spent(now)
	var out []time.Duration
	for _, m := range s.limits.Marks {
		if left <= m {
			out = append(out, m)
		}
	}
	return out
}

func markName(left time.Duration) string { return "time/" + left.String() }

// remindTime tells every agent once for each mark how much time is left. When several
// are behind, the process was away: only the last is told. Who was hired later was told
// the deadline.
func (p *planning) remindTime() {
	passed := p.s.passed(p.now)
	if len(passed) == 0 {
		return
	}
	left := passed[0]
	for _, m := range passed {
		left = min(left, m)
	}
	mark := markName(left)
	for _, a := range p.s.agents {
		if a.Gone == "" && !a.marks[mark] {
			p.decide(Remind{Reminded{Agent: a.Agent, Mark: mark, Text: fmt.Sprintf(
				"Less than %v of the run's time is left. Bring your task to a state that passes its check, and report it.", left)}})
		}
	}
}

const checklist = `A reminder of the harness:
- Does what you are doing now serve your task? Read the task again if in doubt.
- Run the check of your task before you say that you are done: it decides, not you.
- If the same thing failed twice, try another way, or ask.
- When you are done, say so at once.`

// nextList is the mark of the agent's next checklist.
func (a *Agent) nextList() string { return fmt.Sprintf("checklist/%d", a.lists+1) }

// remindChecklist gives an agent at work the checklist after so many turns, or when it
// took none for long.
func (p *planning) remindChecklist(t *Task) {
	a, l := p.s.byName[t.Agent], p.s.limits
	turns := l.ChecklistTurns > 0 && a.Turns-a.listedTurn >= l.ChecklistTurns
	if turns || l.ChecklistIdle > 0 && !p.now.Before(a.quietUntil(l)) {
		p.decide(Remind{Reminded{Agent: a.Agent, Mark: a.nextList(), Text: checklist, Turn: a.Turns}})
	}
}

// quietUntil is when an agent at work gets the checklist if it takes no turn.
func (a *Agent) quietUntil(l Limits) time.Time {
	at := a.Pulse
	if a.listedAt.After(at) {
		at = a.listedAt
	}
	return at.Add(l.ChecklistIdle)
}
