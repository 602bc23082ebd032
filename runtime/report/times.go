package report

import (
	"time"

	"dure/runtime/swarm"
)

// Times are where the time of a task went, in milliseconds. They add up to the time from
// when it was made to its end, but for what it rested parked.
type Times struct {
	Queued int64 `json:"queued_ms"` // it waited for an agent, or for tasks that it needs
	Worked int64 `json:"worked_ms"` // an agent had it
	Rested int64 `json:"rested_ms"` // of a plan: its tasks were open
	Check  int64 `json:"check_ms"`  // from a report to the end of its check, a judge included
	Land   int64 `json:"land_ms"`   // from a passed check to main, a merge included
}

// A clock has since when a task is in its phase.
type clock struct {
	phase swarm.Phase
	since time.Time
	times Times
}

// tick notes the phase that a task and those above it are in after an event.
func (f *fold) tick(id swarm.TaskID, at time.Time) {
	for id != "" {
		t, ok := f.state.Task(id)
		if !ok {
			return
		}
		c := f.clocks[id]
		if c == nil {
			c = &clock{phase: t.Phase, since: at}
			f.clocks[id] = c
		}
		if t.Phase != c.phase {
			c.add(at)
			c.phase, c.since = t.Phase, at
		}
		id = t.Parent
	}
}

func (c *clock) add(at time.Time) {
	ms := max(0, at.Sub(c.since).Milliseconds())
	switch c.phase {
	case swarm.PhaseWaiting, swarm.PhaseRejected:
		c.times.Queued += ms
	case swarm.PhaseLeased:
		c.times.Worked += ms
	case swarm.PhaseResting:
		c.times.Rested += ms
	case swarm.PhaseReported, swarm.PhaseChecked, swarm.PhaseJudging:
		c.times.Check += ms
	case swarm.PhaseAccepted, swarm.PhaseConflict, swarm.PhaseLanded:
		c.times.Land += ms
	}
}

// Size is what landings left on main.
type Size struct {
	Files int   `json:"files"` // that they touched, and that are there
	Bytes int64 `json:"bytes"` // of these
}

// sized notes what a landing left, of its task and of the whole.
func (f *fold) sized(task swarm.TaskID, path string, bytes int64) {
	if f.files[path] == nil {
		f.files[path] = &file{}
	}
	f.files[path].bytes = bytes
	if f.touched[task] == nil {
		f.touched[task] = map[string]int64{}
	}
	f.touched[task][path] = bytes
	if bytes < 0 {
		delete(f.touched[task], path)
	}
}

// file is one that landings touched; bytes below 0: it is gone.
type file struct{ bytes int64 }

func (f *fold) size() (s Size) {
	for _, file := range f.files {
		if file.bytes >= 0 {
			s.Files, s.Bytes = s.Files+1, s.Bytes+file.bytes
		}
	}
	return s
}

func sizeOf(files map[string]int64) (s Size) {
	for _, bytes := range files {
		s.Files, s.Bytes = s.Files+1, s.Bytes+bytes
	}
	return s
}
