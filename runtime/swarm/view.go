package swarm

import (
	"maps"
	"slices"
)

// Ready are the tasks that wait for an agent only, of one crew or (crew empty) of all,
// in the order in which they are given out.
func (s *State) Ready(crew string) []TaskID {
	var out []TaskID
	for _, place := range s.ready {
		if t := s.at(place); crew == "" || t.Crew == crew {
			out = append(out, t.ID())
		}
	}
	return out
}

// at is the task at a place of the queue.
func (s *State) at(place int) *Task { return s.tasks[place&(1<<32-1)] }

// A Crew is agents and tasks that belong together.
type Crew struct {
	Name    string
	Lead    string // the planner of its first plan task
	Agents  []string
	Ready   int // tasks that wait for an agent
	Working int // agents with a task
}

// Crews are all crews that have a task or an agent, by name.
func (s *State) Crews() []Crew {
	crews := map[string]*Crew{}
	of := func(name string) *Crew {
		if crews[name] == nil {
			crews[name] = &Crew{Name: name}
		}
		return crews[name]
	}
	for _, t := range s.tasks[1:] {
		c := of(t.Crew)
		if t.Kind == KindPlan && c.Lead == "" {
			c.Lead = t.Agent
		}
	}
	for _, a := range s.agents {
		if a.Gone != "" {
			continue
		}
		c := of(a.Crew)
		c.Agents = append(c.Agents, a.Hired.Agent)
		if a.Task != "" {
			c.Working++
		}
	}
	for _, place := range s.ready {
		of(s.at(place).Crew).Ready++
	}
	var out []Crew
	for _, name := range slices.Sorted(maps.Keys(crews)) {
		out = append(out, *crews[name])
	}
	return out
}

// Goals counts goals by how they stand. The other fields add up to Total.
type Goals struct {
	Total, Proved, Superseded, Dropped, Parked, Open int
}

// Goals counts the run's goals.
func (s *State) Goals() Goals {
	var g Goals
	for _, t := range s.tasks[1:] {
		if t.Goal == "" {
			continue
		}
		g.Total++
		switch {
		case t.Outcome == Done:
			g.Proved++
		case t.Outcome == Superseded:
			g.Superseded++
		case t.Ended():
			g.Dropped++
		case t.parked():
			g.Parked++
		default:
			g.Open++
		}
	}
	return g
}

// An Assumption is open: a task stands on another that is not done.
type Assumption struct {
	Task, On TaskID
	// Landed: the task itself is on main.
	Landed bool
}

// Assumptions lists those that are open, in the order of the tasks.
func (s *State) Assumptions() []Assumption {
	var out []Assumption
	for _, t := range s.tasks[1:] {
		if t.Ended() {
			continue
		}
		for _, id := range t.Assumes {
			if s.task(id).Outcome != Done {
				out = append(out, Assumption{Task: t.ID(), On: id, Landed: t.Phase == PhaseLanded})
			}
		}
	}
	return out
}
