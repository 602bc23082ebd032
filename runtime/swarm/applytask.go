package swarm

import (
	"errors"
	"fmt"
	"time"
)

var errNoTask = errors.New("no such task")

func (s *State) applySubmitted(p Submitted) error {
	if p.Task != taskID(len(s.tasks)) {
		return fmt.Errorf("%s as task %d", p.Task, len(s.tasks))
	}
	t := &Task{Submitted: p, Phase: PhaseWaiting, num: len(s.tasks), parent: s.task(p.Parent)}
	if (t.parent == nil) != (p.Task == Root) {
		return fmt.Errorf("%s has the parent %q: %w", p.Task, p.Parent, errNoTask)
	}
	for _, id := range p.After {
		dep := s.task(id)
		if dep == nil {
			return fmt.Errorf("%s after %s: %w", p.Task, id, errNoTask)
		}
		dep.waiters = append(dep.waiters, t)
	}
	for _, id := range p.Assumes {
		dep := s.task(id)
		if dep == nil {
			return fmt.Errorf("%s assumes %s: %w", p.Task, id, errNoTask)
		}
		dep.believers = append(dep.believers, t)
	}
	s.tasks = append(s.tasks, t)
	if p.Kind == KindMerge {
		t.Merge = t.parent.Merge
		t.exclude(t.Merge)
		t.parent.merging = p.Task
	} else {
		s.own++
	}
	if p.Ref != "" {
		s.refs[p.By+" "+p.Ref] = string(p.Task)
	}
	if t.parent != nil {
		t.Depth = t.parent.Depth + 1
		t.parent.Children = append(t.parent.Children, p.Task)
	}
	s.splitting(t)
	if s.green != nil && p.Mends != "" && p.Mends == s.green.Broken {
		s.green.Task = p.Task
	}
	s.recount(t)
	return nil
}

// exclude keeps those who made a conflict from settling it.
func (t *Task) exclude(m *Merge) {
	if t.excluded == nil {
		t.excluded = map[string]bool{}
	}
	t.excluded[m.Ours.Agent] = true
	for _, side := range m.With {
		t.excluded[side.Agent] = true
	}
}

// withdraw takes back that a plan task is done, because there is more below it.
func (t *Task) withdraw() {
	if t.Kind == KindPlan && (t.Phase == PhaseReported || t.Phase == PhaseLanded) {
		t.Phase = PhaseResting
	}
}

func (s *State) applyLeased(p Leased, at time.Time) error {
	t, a := s.task(p.Task), s.byName[p.Agent]
	switch {
	case t == nil:
		return fmt.Errorf("%s: %w", p.Task, errNoTask)
	case a == nil || a.Gone != "":
		return fmt.Errorf("%s to %s: no such agent", p.Task, p.Agent)
	case p.Epoch != t.Epoch+1:
		return fmt.Errorf("%s: epoch %d after %d", p.Task, p.Epoch, t.Epoch)
	case a.Task != "" && a.Task != p.Task:
		return fmt.Errorf("%s to %s, who has %s", p.Task, p.Agent, a.Task)
	case t.queued == 0:
		return fmt.Errorf("%s is %s and waits for nobody", p.Task, t.Phase)
	}
	t.Epoch = p.Epoch
	if p.Role == RoleJudge {
		t.judge, t.Phase = p.Agent, PhaseJudging
	} else {
		t.Agent, t.Phase = p.Agent, PhaseLeased
		t.heard, t.leased = t.leased, s.last
		s.splitting(t)
	}
	s.bind(a, t, at)
	s.refresh(t)
	return nil
}

// current is the task whose epoch and phase an event is of. Others' are of an old one.
func (s *State) current(id TaskID, epoch int, phases ...Phase) (*Task, error) {
	t := s.task(id)
	if t == nil {
		return nil, fmt.Errorf("%s: %w", id, errNoTask)
	}
	for _, phase := range phases {
		if t.Phase == phase && t.Epoch == epoch {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%s is %s in epoch %d, not %v in epoch %d", id, t.Phase, t.Epoch, phases, epoch)
}

// reject says in short and in full why a task is not accepted.
func (t *Task) reject(why, detail string) {
	t.Phase, t.why, t.rejection = PhaseRejected, why, why
	if detail != "" {
		t.rejection += ":\n" + detail
	}
}

func (s *State) applyDecision(payload any, at time.Time) error {
	switch p := payload.(type) {
	case Returned:
		return s.applyReturned(p, at)
	case Ended:
		return s.applyEnded(p, at)
	case Parked:
		t := s.task(p.Task)
		if t == nil || t.Ended() {
			return fmt.Errorf("%s: %w", p.Task, errNoTask)
		}
		t.Parked, t.settled = p.Reason, s.last
		s.refreshBelow(t)
	case Reopened:
		return s.applyReopened(p)
	case Estimated:
		t := s.task(p.Task)
		if t == nil {
			return fmt.Errorf("%s: %w", p.Task, errNoTask)
		}
		t.Doubt = &p
		s.doubted.set(t.num, true)
	}
	return nil
}

func (s *State) applyReturned(p Returned, at time.Time) error {
	t, err := s.current(p.Task, p.Epoch, PhaseRejected, PhaseConflict)
	if err != nil {
		return err
	}
	t.Phase, t.Note, t.rejection, t.gaveUp = PhaseWaiting, p.Reason, "", false
	if p.Fault {
		t.Returns++
	}
	if p.Fresh {
		s.free(t.Agent, at)
		t.Agent, t.Fresh = "", true
	}
	s.refresh(t)
	return nil
}

func (s *State) applyEnded(p Ended, at time.Time) error {
	t := s.task(p.Task)
	if t == nil || t.Ended() {
		return fmt.Errorf("%s: %w", p.Task, errNoTask)
	}
	s.free(t.Agent, at)
	s.free(t.judge, at)
	t.Phase, t.Outcome, t.Reason, t.Instead, t.with = PhaseEnded, p.Outcome, p.Reason, p.Instead, p.With
	t.Parked, t.held, t.rejection, t.judge, t.settled = "", "", "", "", s.last
	s.splitting(t)
	if t.ID() != Root {
		t.Agent = "" // the lead is kept: a run can be extended
	}
	s.doubted.set(t.num, t.Doubt != nil && t.Outcome != Done)
	if p.Instead != "" {
		s.redirect(t, s.task(p.Instead))
	}
	s.refreshBelow(t)
	for _, w := range t.waiters {
		s.recount(w)
	}
	for _, b := range t.believers {
		s.recount(b)
	}
	return nil
}

// redirect has those who wait for a superseded task wait for the one in its place.
func (s *State) redirect(t, instead *Task) {
	swap := func(ids []TaskID) []TaskID {
		var out []TaskID
		for _, id := range ids {
			if id == t.ID() {
				id = instead.ID()
			}
			out = append(out, id)
		}
		return out
	}
	for _, w := range t.waiters {
		w.After = swap(w.After)
	}
	for _, b := range t.believers {
		b.Assumes = swap(b.Assumes)
	}
	instead.waiters = append(instead.waiters, t.waiters...)
	instead.believers = append(instead.believers, t.believers...)
	for _, w := range append(t.waiters, t.believers...) {
		s.recount(w)
	}
	t.waiters, t.believers = nil, nil
}

func (s *State) applyReopened(p Reopened) error {
	t := s.task(p.Task)
	if t == nil || t.Outcome == Done || t.Outcome == Superseded || t.Parked == "" && !t.Ended() {
		return fmt.Errorf("%s: not parked, failed or dropped", p.Task)
	}
	if !t.Ended() {
		t.Parked = ""
	} else {
		s.revive(t, t, fmt.Sprintf("%s opened the task again: %s", p.By, p.Reason))
	}
	s.refreshBelow(t)
	return nil
}

// revive has an ended task wait again, and with it what ended because it did.
func (s *State) revive(t, top *Task, note string) {
	t.Phase, t.Outcome, t.Reason, t.with = PhaseWaiting, "", "", ""
	t.Note, t.Fresh, t.Agent, t.Returns, t.judgings = note, t.Epoch > 0, "", 0, 0
	for _, id := range t.Children {
		child := s.task(id)
		if child.Ended() && child.with == top.ID() && child.Outcome != Done {
			s.revive(child, top, note)
		}
	}
	s.recount(t)
	for _, w := range t.waiters {
		s.recount(w)
	}
	for _, b := range t.believers {
		s.recount(b)
	}
}
