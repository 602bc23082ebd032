package swarm

import (
	"fmt"
	"time"

	"dure/runtime/event"
)

// Apply adds the next event of the stream to the state. An error says that the log and
// this program do not fit together; the state is then of no use.
func (s *State) Apply(e event.Event) error {
	if e.Sequence != s.last+1 {
		return fmt.Errorf("swarm: %w: event %d after %d", event.ErrDamaged, e.Sequence, s.last)
	}
	payload, err := Registry.Decode(e)
	if err != nil {
		return fmt.Errorf("swarm: %w", err)
	}
	s.last = e.Sequence
	if _, first := payload.(Started); first != (s.last == 1) {
		return fmt.Errorf("swarm: %w: %s as event %d", event.ErrDamaged, e.Type, e.Sequence)
	}
	if err := s.apply(payload, e.Time); err != nil {
		return fmt.Errorf("swarm: %w: %s, event %d: %w", event.ErrDamaged, e.Type, e.Sequence, err)
	}
	return nil
}

func (s *State) apply(payload any, at time.Time) error {
	switch p := payload.(type) {
	case Started, Extended, Paused, Resumed, Activated, Measured, Finished:
		s.applyRun(p, at)
	case Drafted, Approved, Rejected:
		s.applyPlan(p)
	case Hired, Moved, Dismissed:
		return s.applyTeam(p, at)
	case Reminded, Steered, Delivered, Asked, Answered, Reasked:
		return s.applyWords(p, at)
	case Submitted:
		return s.applySubmitted(p)
	case Leased:
		return s.applyLeased(p, at)
	case Reported, Checked, Verified, Judged, Landed, Conflicted, Refused:
		return s.applyResult(p, at)
	case Mainline:
		return s.applyMainline(p)
	case Found, Opened:
		return s.applyFile(p)
	case Returned, Ended, Parked, Reopened, Estimated:
		return s.applyDecision(p, at)
	default:
		return fmt.Errorf("no rule for %T", payload)
	}
	return nil
}

func (s *State) applyRun(payload any, at time.Time) {
	switch p := payload.(type) {
	case Started:
		s.started, s.limits, s.began, s.active = &p, p.Limits, at, p.Limits.Active
		if p.Keep != "" {
			s.green = &Green{Command: p.Keep}
		}
	case Extended:
		s.active = max(s.active, p.Limits.Active)
		s.limits = p.Limits
		s.extend(p)
		s.resume(at)
		s.refreshAll() // what comes back too often is a matter of the limits
	case Paused:
		s.paused = &p
		s.halt(at)
	case Resumed:
		s.paused = nil
		s.resume(at)
	case Activated:
		s.active, s.pace = p.Active, p.Reason
	case Measured:
		s.rate = p.Rate
	case Finished:
		s.finished = &p
		s.halt(at)
	}
}

// extend opens a finished run again. A root that was done is asked again; all else goes
// on as it was.
func (s *State) extend(p Extended) {
	if s.finished == nil {
		return
	}
	s.finished = nil
	if t := s.root(); t.Ended() {
		t.Outcome, t.Reason = "", ""
		t.Phase, t.Note = PhaseWaiting, fmt.Sprintf("%s extended the run: there is more to do.", p.By)
		s.refresh(t)
	}
}

// halt stops the run's clock, resume starts it if nothing else keeps it stopped.
func (s *State) halt(at time.Time) {
	if s.halted.IsZero() {
		s.halted = at
	}
}

func (s *State) resume(at time.Time) {
	if s.paused != nil || s.finished != nil || s.halted.IsZero() {
		return
	}
	s.resting += at.Sub(s.halted)
	s.halted = time.Time{}
	for _, a := range s.agents {
		a.Pulse = at // nobody was expected to take a turn meanwhile
	}
}

func (s *State) applyPlan(payload any) {
	t := s.root()
	switch p := payload.(type) {
	case Drafted:
		s.draft = &p
	case Approved:
		s.approved = &p
		s.refreshAll()
	case Rejected:
		s.draft = nil
		t.Phase, t.Note = PhaseWaiting, fmt.Sprintf("%s does not approve the plan: %s", p.By, p.Note)
		s.refresh(t)
	}
}
