package swarm

import (
	"fmt"
	"slices"
	"time"
)

// Defaults of the limits.
const (
	defaultAgents         = 8
	defaultReturns        = 3
	defaultDepth          = 10
	defaultTasks          = 2500
	defaultIdle           = 30 * time.Second
	defaultChecklistTurns = 20
	defaultChecklistIdle  = 10 * time.Minute
)

// filled gives zero fields their defaults. Marks come from the time: half of it, a
// quarter, a tenth and a twentieth.
func (l Limits) filled() Limits {
	orDefault(&l.Agents, defaultAgents)
	orDefault(&l.Active, l.Agents)
	orDefault(&l.Returns, defaultReturns)
	orDefault(&l.Depth, defaultDepth)
	orDefault(&l.Tasks, defaultTasks)
	orDefault(&l.Idle, defaultIdle)
	orDefault(&l.ChecklistTurns, defaultChecklistTurns)
	orDefault(&l.ChecklistIdle, defaultChecklistIdle)
	if len(l.Marks) == 0 && l.Time > 0 {
		l.Marks = []time.Duration{l.Time / 2, l.Time / 4, l.Time / 10, l.Time / 20}
	}
	return l
}

func orDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// check says what is wrong with filled limits.
func (l Limits) check() error {
	for name, n := range map[string]int64{
		"time": int64(l.Time), "agents": int64(l.Agents), "active": int64(l.Active), "returns": int64(l.Returns),
		"depth": int64(l.Depth), "tasks": int64(l.Tasks), "idle": int64(l.Idle),
		"checklist turns": int64(l.ChecklistTurns), "checklist idle": int64(l.ChecklistIdle),
	} {
		if n < 0 {
			return fmt.Errorf("limits: %w: %s is negative", ErrRefused, name)
		}
	}
	if l.Depth > defaultDepth || l.Tasks > defaultTasks {
		return fmt.Errorf("limits: %w: a tree of depth %d with %d tasks, at most %d and %d", ErrRefused, l.Depth, l.Tasks, defaultDepth, defaultTasks)
	}
	if slices.Min(append(slices.Clone(l.Marks), 1)) <= 0 {
		return fmt.Errorf("limits: %w: a mark of %v", ErrRefused, l.Marks)
	}
	return nil
}

// extended are limits with more: Time is added, other fields that are not zero take the
// place of what was.
func (l Limits) extended(more Limits) Limits {
	if l.Time > 0 {
		l.Time += more.Time
	}
	replace(&l.Agents, more.Agents)
	replace(&l.Active, more.Active)
	replace(&l.Returns, more.Returns)
	replace(&l.Depth, more.Depth)
	replace(&l.Tasks, more.Tasks)
	replace(&l.Idle, more.Idle)
	replace(&l.ChecklistTurns, more.ChecklistTurns)
	replace(&l.ChecklistIdle, more.ChecklistIdle)
	if len(more.Marks) > 0 {
		l.Marks = more.Marks
	}
	return l
}

func replace[T int | time.Duration](field *T, value T) {
	if value != 0 {
		*field = value
	}
}
