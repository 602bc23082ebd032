package swarm

// refresh brings the indexes up to date with what a task is now. Whatever changes a
// task calls it; recount does so too.
func (s *State) refresh(t *Task) {
	parked := t.parked()
	s.spread(t, parked)
	s.countOpen(t)
	place := 0
	if !parked && s.dispatchable(t) {
		place = t.place()
	}
	if t.queued != place {
		s.ready.remove(t.queued)
		if t.queued = place; place != 0 {
			s.ready.add(place)
		}
	}
	s.todo.set(t.num, !parked && t.held == "" && t.pending())
	working := !parked && t.held == "" && (t.Phase == PhaseLeased || t.Phase == PhaseJudging)
	if working != t.working {
		t.working = working
		s.atWork += map[bool]int{true: 1, false: -1}[working]
	}
}

// refreshBelow does it for a task and all below it.
func (s *State) refreshBelow(t *Task) {
	s.refresh(t)
	for _, id := range t.Children {
		s.refreshBelow(s.task(id))
	}
}

// refreshAll does it for all tasks: what all depend on has changed.
func (s *State) refreshAll() {
	for _, t := range s.tasks[1:] {
		s.refresh(t)
	}
}

// countOpen keeps the parent's number of open children. When there is one again, the
// parent is not done.
func (s *State) countOpen(t *Task) {
	open := !t.Ended() && t.standstill() == ""
	if t.parent == nil || open == t.isOpen {
		return
	}
	t.isOpen = open
	if open {
		t.parent.open++
		t.parent.withdraw()
	} else {
		t.parent.open--
		t.settled = s.last
	}
	s.refresh(t.parent)
}

// standstill says why a task cannot go on before a person or a planner does something:
// it is parked, or waits for one that cannot go on. Empty: it can.
func (t *Task) standstill() string {
	if t.Parked != "" {
		return t.Parked
	}
	if t.stuckOn != "" {
		return "it waits for " + string(t.stuckOn) + ", which is parked or waits for what is"
	}
	return ""
}

// spread tells those who wait for a task that it cannot go on, or can again. Nobody
// waits for himself, so that this comes to an end.
func (s *State) spread(t *Task, parked bool) {
	t.stuckOn = t.waitsInVain()
	stalled := !t.Ended() && (parked || t.stuckOn != "")
	if stalled == t.stalled {
		return
	}
	t.stalled = stalled
	for _, w := range t.waiters {
		s.refresh(w)
	}
	for _, b := range t.believers {
		s.refresh(b)
	}
}

// waitsInVain is what a task that can do nothing itself waits for, if that cannot go on.
func (t *Task) waitsInVain() TaskID {
	var deps []*Task
	switch t.Phase {
	case PhaseWaiting:
		deps = t.after
	case PhaseLanded, PhaseConflict:
		deps = t.assumes
	}
	for _, dep := range deps {
		if dep.stalled {
			return dep.ID()
		}
	}
	return ""
}

// recount counts again what stands between a task and its start, and its end.
func (s *State) recount(t *Task) {
	t.blockers, t.unproven, t.broken = 0, 0, 0
	t.after, t.assumes = s.named(t.After), s.named(t.Assumes)
	for _, dep := range t.after {
		t.count(dep, &t.blockers)
	}
	for _, dep := range t.assumes {
		t.count(dep, &t.unproven)
	}
	s.refresh(t)
}

func (t *Task) count(dep *Task, missing *int) {
	if dep.Outcome == Done {
		return
	}
	*missing++
	if dep.Ended() {
		t.broken++
	}
}

// dispatchable reports whether a task waits for an agent only.
func (s *State) dispatchable(t *Task) bool {
	if t.held != "" || t.broken > 0 || s.approved == nil && t.ID() != Root {
		return false
	}
	switch t.Phase {
	case PhaseWaiting:
		return t.blockers == 0
	case PhaseResting:
		return t.open == 0
	case PhaseChecked:
		return t.judgings <= s.limits.Returns
	}
	return false
}

// pending reports whether Plan has something to do for a task that no agent is needed
// for.
func (t *Task) pending() bool {
	if t.Ended() {
		return false
	}
	if t.broken > 0 {
		return true
	}
	switch t.Phase {
	case PhaseLeased, PhaseJudging, PhaseReported, PhaseAccepted, PhaseRejected, PhaseConflict:
		return true
	case PhaseChecked:
		return t.judgings > 0
	case PhaseLanded:
		return t.unproven == 0
	}
	return false
}
