package swarm

import (
	"errors"
	"fmt"
	"strings"
)

// ErrRefused: a request cannot be granted; the error says why, for whoever made it.
var ErrRefused = errors.New("refused")

// Who else than an agent asks for something.
const (
	Harness = "harness"
	Person  = "person"
)

// A Spawn asks for a task.
type Spawn struct {
	// By is the agent, who must have a plan task, Person or Harness. Ref names the
	// request, so that it can be made again; an agent's call has one.
	By, Ref string
	// Parent of an agent's is its own plan task, and left empty. Others' is the root if
	// empty.
	Parent  TaskID
	Kind    Kind // work if empty
	Title   string
	Text    string
	Check   string
	After   []TaskID
	Assumes []TaskID
	Crew    string // the parent's if empty
	Goal    string
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// admit makes a task of a request, or says why not.
func (s *State) admit(r Spawn) (Submitted, error) {
	parent, err := s.parentOf(r)
	if err != nil {
		return Submitted{}, err
	}
	if r.Kind == "" {
		r.Kind = KindWork
	}
	if r.Crew == "" {
		r.Crew = parent.Crew
	}
	for _, rule := range []func(*State, Spawn, *Task) error{admitText, admitCheck, admitCrew, admitSize, admitWaits} {
		if err := rule(s, r, parent); err != nil {
			return Submitted{}, err
		}
	}
	return Submitted{
		Task: taskID(len(s.tasks)), Kind: r.Kind, Parent: parent.ID(), Title: r.Title, Text: r.Text, Check: r.Check,
		After: r.After, Assumes: r.Assumes, Crew: r.Crew, Goal: r.Goal, By: r.By, Ref: r.Ref,
	}, nil
}

// parentOf finds the plan task that a task is asked for under.
func (s *State) parentOf(r Spawn) (*Task, error) {
	id := r.Parent
	if a := s.byName[r.By]; a != nil {
		t := s.task(a.Task)
		if t == nil || t.Kind != KindPlan || t.Phase != PhaseLeased || t.Agent != r.By {
			return nil, refuse("%s has no plan task at the moment", r.By)
		}
		if id != "" && id != t.ID() {
			return nil, refuse("a planner makes tasks below its own, %s", t.ID())
		}
		return t, nil
	}
	if r.By != Person && r.By != Harness {
		return nil, refuse("no agent is called %q", r.By)
	}
	if id == "" {
		id = Root
	}
	t := s.task(id)
	switch {
	case t == nil || t.Kind != KindPlan:
		return nil, refuse("no plan task is called %q", id)
	case t.Ended():
		return nil, refuse("%s has ended: %s", id, t.Outcome)
	}
	return t, nil
}

func admitText(_ *State, r Spawn, _ *Task) error {
	switch {
	case strings.TrimSpace(r.Title) == "" || len(r.Title) > MaxTitle:
		return refuse("a task needs a title of at most %d bytes", MaxTitle)
	case len(r.Text) > MaxText:
		return refuse("the text of a task may have %d bytes and has %d: put the rest into a file of the repository", MaxText, len(r.Text))
	case len(r.Goal) > MaxTitle:
		return refuse("the name of a goal may have %d bytes", MaxTitle)
	case r.Kind != KindPlan && r.Kind != KindWork:
		return refuse("a task is a plan or work, not %q", r.Kind)
	}
	return nil
}

// admitCheck: verification is defined first. No task without a check is dispatched,
// since none is taken in.
func admitCheck(_ *State, r Spawn, _ *Task) error {
	switch {
	case strings.TrimSpace(r.Check) == "":
		return refuse("the task %q has no check: name the command that fails now and passes when it is done", r.Title)
	case len(r.Check) > MaxCheck:
		return refuse("a check may have %d bytes: put it into a script of the repository", MaxCheck)
	}
	return nil
}

func admitCrew(_ *State, r Spawn, _ *Task) error { return checkCrew(r.Crew) }

// checkCrew says what is wrong with a crew's name.
func checkCrew(name string) error {
	odd := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }
	if name == "" || len(name) > 32 || strings.ContainsFunc(name, odd) {
		return refuse("a crew's name is 1 to 32 of a-z, 0-9 and -, not %q", name)
	}
	return nil
}

func admitSize(s *State, _ Spawn, parent *Task) error {
	switch {
	case parent.Depth+1 > s.limits.Depth:
		return refuse("%s is at depth %d of at most %d: do the work in this task, or make its tasks larger", parent.ID(), parent.Depth, s.limits.Depth)
	case s.own >= s.limits.Tasks:
		return refuse("the run has %d tasks, as many as it may have", s.own)
	}
	return nil
}

// admitWaits: what a task waits for must exist, not have failed, and not wait for it.
func admitWaits(s *State, r Spawn, parent *Task) error {
	var all []TaskID
	for _, id := range append(append(all, r.After...), r.Assumes...) {
		t := s.task(id)
		switch {
		case t == nil:
			return refuse("no task is called %q", id)
		case t.Ended() && t.Outcome != Done:
			return refuse("%s is %s: nothing can wait for it", id, t.Outcome)
		case s.waitsFor(t, parent):
			return refuse("a cycle: %s waits for %s, which would wait for this task, and this one for %s", id, parent.ID(), id)
		}
	}
	return nil
}

// waitsFor reports whether the end of a task waits for another's: a parent's for its
// children's, a task's for those after which it comes and those that it assumes.
func (s *State) waitsFor(t, other *Task) bool {
	seen := map[*Task]bool{}
	var walk func(*Task) bool
	walk = func(t *Task) bool {
		if t == other {
			return true
		}
		if seen[t] || t.Ended() {
			return false
		}
		seen[t] = true
		for _, ids := range [][]TaskID{t.Children, t.After, t.Assumes} {
			for _, id := range ids {
				if walk(s.task(id)) {
					return true
				}
			}
		}
		return false
	}
	return walk(t)
}
