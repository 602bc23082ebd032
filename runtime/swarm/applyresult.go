package swarm

import (
	"fmt"
	"time"
)

// applyResult takes what came of a work.
func (s *State) applyResult(payload any, at time.Time) error {
	var t *Task
	var err error
	switch p := payload.(type) {
	case Reported:
		if t, err = s.current(p.Task, p.Epoch, PhaseLeased); err == nil {
			t.reported(p)
		}
	case Checked:
		if t, err = s.current(p.Task, p.Epoch, PhaseReported); err == nil {
			t.checked(p, s.started.Judge)
		}
	case Verified:
		if t, err = s.current(Root, p.Epoch, PhaseReported); err == nil {
			s.verified = &p
			t.verified(p)
		}
	case Judged:
		if t, err = s.current(p.Task, p.Epoch, PhaseJudging); err == nil {
			s.free(t.judge, at)
			t.judged(p)
		}
	case Landed:
		if t, err = s.current(p.Task, p.Epoch, PhaseAccepted); err == nil {
			t.Phase, t.Main = PhaseLanded, p.Main
			s.landed(t, at)
		}
	case Conflicted:
		if t, err = s.current(p.Task, p.Epoch, PhaseAccepted); err == nil {
			s.conflicted(t, p, at)
		}
	case Refused:
		if t, err = s.current(p.Task, p.Epoch, PhaseAccepted); err == nil {
			t.reject(fmt.Sprintf("the commit %s was not put onto main", p.Commit), p.Reason)
		}
	}
	if err == nil {
		s.refresh(t)
	}
	return err
}

func (t *Task) reported(p Reported) {
	t.Report, t.Result = &p, nil
	t.Summary, t.Commit, t.Author = p.Summary, p.Commit, t.Agent
	t.Note, t.Fresh = "", false
	switch {
	case p.GaveUp != "":
		t.gaveUp = true
		t.reject(fmt.Sprintf("%s ended without being done", t.Agent), p.GaveUp)
	case t.Kind == KindPlan && t.open > 0:
		t.Phase = PhaseResting
	default:
		t.Phase = PhaseReported
	}
}

func (t *Task) checked(p Checked, judge bool) {
	t.Result = &p
	switch {
	case !p.Passed:
		t.reject("the check fails on "+p.Commit, p.Output.String())
	case t.Kind == KindPlan || t.Commit == "":
		t.Phase = PhaseLanded // main has it
	case judge:
		t.Phase = PhaseChecked
	default:
		t.Phase = PhaseAccepted
	}
}

func (t *Task) verified(p Verified) {
	if p.Passed {
		t.Phase, t.Main = PhaseLanded, p.Commit
		return
	}
	t.reject("the official check fails on a clean checkout of main, "+p.Commit, p.Output.String())
}

// judged takes a verdict. One that cites nothing of the check's output is none.
func (t *Task) judged(p Judged) {
	t.judge = ""
	switch {
	case p.GaveUp != "" || p.Cites == "":
		t.judgings++
		t.Phase = PhaseChecked
	case p.Passed:
		t.Phase = PhaseAccepted
	default:
		t.reject(fmt.Sprintf("the judge %s does not accept it", p.Agent), fmt.Sprintf("%s\nIt cites: %s", p.Text, p.Cites))
	}
}

func (s *State) landed(t *Task, at time.Time) {
	if a := s.byName[t.Author]; a != nil {
		a.landed = t.ID()
	}
	s.free(t.Agent, at)
	t.Agent = ""
}

// conflicted has a work task wait for its merge task, and a merge task go to another
// merger: who made a side of a conflict does not settle it.
func (s *State) conflicted(t *Task, p Conflicted, at time.Time) {
	m := &Merge{Conflict: p.Conflict, Detail: p.Detail, Commit: p.Commit, Ours: Side{Agent: t.Author, Task: t.ID()}, With: p.With}
	if t.Kind == KindMerge {
		m.Ours.Task = t.Merge.Ours.Task
		t.exclude(m)
		t.Merge = m
		t.reject("the settled commit conflicts with main again", p.Detail)
		return
	}
	t.Merge, t.merging, t.Phase = m, "", PhaseConflict
	s.free(t.Agent, at)
	t.Agent = ""
}
