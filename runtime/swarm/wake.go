package swarm

import "time"

// Wake is when Plan may give something new although nothing happens: a mark or the end
// of the run's time, an agent that was idle for long, a checklist. Zero: never.
func (s *State) Wake(now time.Time) time.Time {
	if s.started == nil || s.paused != nil || s.finished != nil {
		return time.Time{}
	}
	var next time.Time
	at := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if end := s.Deadline(); !end.IsZero() {
		at(end)
		for _, m := range s.limits.Marks {
			at(end.Add(-m))
		}
	}
	if len(s.ready) > 0 {
		for _, crew := range s.idle[RoleWorker] {
			for _, n := range crew {
				at(s.agents[n].Since.Add(s.limits.Idle))
			}
		}
	}
	if s.limits.ChecklistIdle > 0 {
		for _, n := range s.todo {
			if t := s.tasks[n]; t.Phase == PhaseLeased {
				at(s.byName[t.Agent].quietUntil(s.limits))
			}
		}
	}
	return next
}
