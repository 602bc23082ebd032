package swarm

// assignment is what the agent of a leased task gets.
func (s *State) assignment(t *Task) Assignment {
	a := Assignment{
		Task: t.ID(), Epoch: t.Epoch, Agent: t.Agent, Role: t.role(), Crew: t.Crew,
		Kind: t.Kind, Title: t.Title, Text: t.Text, Checks: s.checks(t), Deadline: s.Deadline(),
		Note: t.Note, Fresh: t.Fresh, Commit: t.Commit, File: s.fileOf(t),
	}
	if above := t.planner(); above != nil {
		a.Parent = above.Agent
	}
	if t.ID() == Root {
		a.Text = s.started.Spec
	}
	for _, id := range t.Assumes {
		if s.task(id).Outcome != Done {
			a.Assumes = append(a.Assumes, id)
		}
	}
	if t.Kind == KindPlan {
		a.Children = s.childrenOf(t)
	}
	if t.Kind == KindMerge {
		a.Conflict = s.mergeOf(t)
	}
	if a.Role == RoleJudge {
		a.Agent, a.Report, a.Check = t.judge, t.Report, t.Result
	}
	return a
}

// checks are the commands that decide about a task. A merge must pass those of both
// sides.
func (s *State) checks(t *Task) []string {
	if t.ID() == Root {
		return []string{s.started.Check}
	}
	checks := []string{t.Submitted.Check}
	if t.Kind != KindMerge {
		return checks
	}
	for _, side := range t.Merge.With {
		if other := s.task(side.Task); other != nil && other.ID() != Root && other.Submitted.Check != t.Submitted.Check {
			checks = append(checks, other.Submitted.Check)
		}
	}
	return checks
}

// childrenOf is what a planner hears of its tasks: what they came to, never what a tool
// printed while they were worked on.
func (s *State) childrenOf(t *Task) []Child {
	var out []Child
	for _, id := range t.Children {
		c := s.task(id)
		if c.isOpen {
			continue
		}
		child := Child{Task: id, Title: c.Title, Outcome: c.Outcome, Reason: c.Reason, Summary: c.Summary, New: c.settled > t.heard}
		if !c.Ended() {
			child.Reason = c.standstill()
		}
		out = append(out, child)
	}
	return out
}

// mergeOf is the conflict with the texts of the tasks of both sides.
func (s *State) mergeOf(t *Task) *Merge {
	m := *t.Merge
	m.Texts = map[TaskID]string{}
	for _, side := range append([]Side{m.Ours}, m.With...) {
		if other := s.task(side.Task); other != nil {
			m.Texts[side.Task] = other.Title + "\n" + other.Text
		}
	}
	return &m
}

func (s *State) landing(t *Task) Landing {
	l := Landing{Task: t.ID(), Epoch: t.Epoch, Agent: t.Author, Commit: t.Commit, File: s.fileOf(t)}
	if t.Kind == KindMerge {
		l.Conflict = t.Merge.Conflict
	}
	return l
}
