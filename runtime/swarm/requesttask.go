package swarm

import "context"

// mayChange says why somebody may not change a task: planners only what is below theirs.
func (s *State) mayChange(by string, id TaskID) (*Task, error) {
	t := s.task(id)
	if t == nil || id == Root {
		return nil, refuse("%q is not a task that can be changed", id)
	}
	if a := s.byName[by]; a != nil {
		own := s.task(a.Task)
		if own == nil || own.Kind != KindPlan || own.Agent != by || own == t || !t.below(own) {
			return nil, refuse("%s is not below a plan task of %s", id, by)
		}
	}
	return t, nil
}

// MayChange reports whether somebody may park, open or end a task.
func (s *State) MayChange(by string, id TaskID) bool {
	_, err := s.mayChange(by, id)
	return err == nil
}

// Park has nothing of a task, and of what is below it, go on. by is a person's name, or
// the planner's.
func (c *Coordinator) Park(ctx context.Context, by string, task TaskID, reason string) error {
	return c.do(ctx, "park "+string(task), func(s *State) ([]any, error) {
		t, err := s.mayChange(by, task)
		switch {
		case err != nil:
			return nil, err
		case t.Ended():
			return nil, refuse("it has ended: %s", t.Outcome)
		case t.Parked != "":
			return nil, refuse("it is parked already: %s", t.Parked)
		case t.Kind == KindMerge:
			return nil, refuse("it settles the conflict of %s: park that", t.Parent)
		case reason == "" || len(reason) > MaxText:
			return nil, refuse("say why, in at most %d bytes", MaxText)
		}
		return []any{Parked{Task: task, By: by, Reason: reason}}, nil
	})
}

// Reopen has a parked task go on, with what is below it. One that failed or was dropped
// waits for an agent again, and with it what was dropped because of it.
func (c *Coordinator) Reopen(ctx context.Context, by string, task TaskID, reason string) error {
	return c.do(ctx, "reopen "+string(task), func(s *State) ([]any, error) {
		t, err := s.mayChange(by, task)
		if err != nil {
			return nil, err
		}
		if err := s.mayReopen(t); err != nil {
			return nil, err
		}
		return []any{Reopened{Task: task, By: by, Reason: clip(reason, MaxText)}}, nil
	})
}

func (s *State) mayReopen(t *Task) error {
	switch {
	case t.Outcome == Done || t.Outcome == Superseded:
		return refuse("it is %s", t.Outcome)
	case !t.Ended() && t.Parked == "":
		return refuse("it is open")
	case t.Kind == KindMerge && t.Ended():
		return refuse("a merge task ends for good: open %s", t.parent.ID())
	case t.parent.Ended():
		return refuse("what it is part of, %s, has ended: open that", t.parent.ID())
	case t.broken > 0:
		return refuse("%s: open that first", s.brokenBy(t))
	}
	return nil
}

// End ends a task that is no longer wanted: dropped, or superseded, with the task in its
// place if there is one. Who waits for it waits for that one then.
func (c *Coordinator) End(ctx context.Context, by string, task TaskID, outcome Outcome, instead TaskID, reason string) error {
	return c.do(ctx, "end "+string(task), func(s *State) ([]any, error) {
		t, err := s.mayChange(by, task)
		switch {
		case err != nil:
			return nil, err
		case t.Ended():
			return nil, refuse("it has ended: %s", t.Outcome)
		case outcome != Dropped && outcome != Superseded:
			return nil, refuse("a task is dropped or superseded; %q is for its check to say", outcome)
		case reason == "" || len(reason) > MaxText:
			return nil, refuse("say why, in at most %d bytes", MaxText)
		}
		if err := s.mayReplace(t, outcome, instead); err != nil {
			return nil, err
		}
		return s.endings(Ended{Task: task, Outcome: outcome, Instead: instead, Reason: reason, By: by}), nil
	})
}

// mayReplace: the task in another's place must be there, be good, and not wait for those
// who then wait for it.
func (s *State) mayReplace(t *Task, outcome Outcome, instead TaskID) error {
	if instead == "" {
		return nil
	}
	other := s.task(instead)
	switch {
	case outcome != Superseded:
		return refuse("only a superseded task has another in its place")
	case other == nil || other.below(t) || other.Ended() && other.Outcome != Done:
		return refuse("%q cannot take its place", instead)
	}
	for _, w := range append(append([]*Task(nil), t.waiters...), t.believers...) {
		if !w.Ended() && s.waitsFor(other, w) {
			return refuse("a cycle: %s waits for %s", instead, w.ID())
		}
	}
	return nil
}

// Estimate records what a task is held to cost, and whether it can be done. When the
// models turn out to be twice as fast or slow, its planner is asked again.
func (c *Coordinator) Estimate(ctx context.Context, by string, task TaskID, tokens int64, feasible bool, reason string) error {
	return c.do(ctx, "estimate "+string(task), func(s *State) ([]any, error) {
		t := s.task(task)
		if t == nil || tokens < 0 {
			return nil, refuse("an estimate is of a task, in tokens")
		}
		return []any{Estimated{Task: task, By: by, Tokens: tokens, Rate: s.rate, Feasible: feasible, Reason: clip(reason, MaxText)}}, nil
	})
}
