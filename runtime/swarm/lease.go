package swarm

import (
	"maps"
	"slices"
	"time"
)

// lease gives waiting tasks to agents, in the order of the queue, while more agents may
// be at work.
func (p *planning) lease() {
	slots := p.s.Allowed() - p.s.atWork
	type pool struct {
		role Role
		crew string
	}
	empty := map[pool]bool{} // nobody was found there
	for _, place := range p.s.ready {
		t := p.s.at(place)
		if slots <= 0 && t.File == "" { // those at work may wait for the file to be split
			if t.rank() > 1 {
				return
			}
			continue
		}
		from := pool{t.role(), t.Crew}
		if empty[from] && t.Agent == "" && t.excluded == nil {
			continue
		}
		agent := p.pick(t)
		if agent == "" {
			if t.excluded == nil {
				empty[from] = true
			}
			continue
		}
		p.taken[agent] = true
		p.decide(Lease{Leased{Task: t.ID(), Epoch: t.Epoch + 1, Agent: agent, Role: t.role()}})
		slots--
	}
}

// pick finds an agent: who has the task already, else one of its crew that is idle, else
// a new one, else one of another crew that is idle for long.
func (p *planning) pick(t *Task) string {
	role := t.role()
	if role != RoleJudge && t.Agent != "" {
		return t.Agent
	}
	for _, crew := range p.s.crewsFor(t) {
		if a := p.free(t, crew, 0); a != "" {
			return a
		}
	}
	if p.room(t) {
		return p.hire(t)
	}
	for _, crew := range slices.Sorted(maps.Keys(p.s.idle[role])) {
		if a := p.free(t, crew, p.s.limits.Idle); a != "" {
			return a
		}
	}
	return ""
}

// crewsFor are the crews whose agents a task may have at once. Crews are for workers:
// others serve all.
func (s *State) crewsFor(t *Task) []string {
	if t.role() == RoleWorker {
		return []string{t.Crew}
	}
	return slices.Sorted(maps.Keys(s.idle[t.role()]))
}

// free is the first agent of a crew that is idle for that long and may have the task.
func (p *planning) free(t *Task, crew string, idle time.Duration) string {
	for _, n := range p.s.idle[t.role()][crew] {
		a := p.s.agents[n]
		if !p.taken[a.Agent] && !t.excluded[a.Agent] && p.now.Sub(a.Since) >= idle {
			return a.Agent
		}
	}
	return ""
}

// room reports whether one more agent may be hired for a task. Planners there may be as
// many as plan tasks. Agents that cannot have the task do not count: those who made a
// side of its conflict, so that there is always somebody neutral, and those whose own
// task is parked or waits for a person, so that the others go on.
func (p *planning) room(t *Task) bool {
	role := t.role()
	most := p.s.limits.Agents
	switch role {
	case RoleLead, RolePlanner:
		return true
	case RoleJudge, RoleMerger:
		most = max(1, most/4)
	}
	if p.s.alive[role]+p.hired[role] < most {
		return true
	}
	n := p.hired[role]
	for _, a := range p.s.agents {
		if a.Role == role && a.Gone == "" && !t.excluded[a.Agent] && !p.s.stalled(a) {
			n++
		}
	}
	return n < most
}

// stalled reports whether an agent can do nothing for the task that it has.
func (s *State) stalled(a *Agent) bool {
	t := s.task(a.Task)
	return t != nil && (t.held != "" || t.parked())
}

// hire takes on the next agent by name.
func (p *planning) hire(t *Task) string {
	n := len(p.s.agents)
	for _, k := range p.hired {
		n += k
	}
	h := Hired{Agent: Name(n), Role: t.role(), Crew: t.Crew}
	if above := t.planner(); above != nil {
		h.Parent = above.Agent
	}
	p.hired[h.Role]++
	p.decide(Hire{h})
	return h.Agent
}
