package sched

import (
	"fmt"
	"slices"
)

// Check verifies the invariants in the package comment. O(requests x slots).
func (s *Scheduler) Check() error {
	if n := len(s.waiting) + len(s.running); n != len(s.byID) || n > s.limits.Slots+s.limits.Queue {
		return fmt.Errorf("%d wait and %d run of %d alive, %d may", len(s.waiting), len(s.running), len(s.byID), s.limits.Slots+s.limits.Queue)
	}
	for i, r := range s.waiting {
		if i > 0 && s.waiting[i-1].serial >= r.serial {
			return fmt.Errorf("request %d waits before %d, which came earlier", s.waiting[i-1].id, r.id)
		}
		if err := s.checkWaiting(r); err != nil {
			return fmt.Errorf("waiting request %d: %w", r.id, err)
		}
	}
	for i, r := range s.running {
		if i > 0 && s.running[i-1].slot >= r.slot {
			return fmt.Errorf("slot %d is listed before %d", s.running[i-1].slot, r.slot)
		}
		if err := s.checkRunning(r); err != nil {
			return fmt.Errorf("running request %d: %w", r.id, err)
		}
	}
	return s.checkAccounts()
}

func (s *Scheduler) checkWaiting(r *request) error {
	switch {
	case s.byID[r.id] != r:
		return fmt.Errorf("it is not found by its id")
	case r.slot >= 0 || r.seat >= 0 || r.held || r.read != 0 || r.generated != 0 || len(r.stops) > 0 || len(r.followers) > 0:
		return fmt.Errorf("it has a trace of running: %+v", *r)
	case r.led > maxLeaders:
		return fmt.Errorf("it had %d leaders", r.led)
	case r.room.refusedAt > s.room.events:
		return fmt.Errorf("it was refused after room event %d of %d", r.room.refusedAt, s.room.events)
	case r.room.passed > 0 && r.room.refusedAt == 0:
		return fmt.Errorf("it was passed but never refused")
	case r.leader == nil:
		return nil
	}
	l := r.leader
	switch {
	case !l.reading():
		return fmt.Errorf("its leader %d reads nothing", l.id)
	case l.read >= r.until:
		return fmt.Errorf("its leader %d read %d, it waits for %d", l.id, l.read, r.until)
	case !slices.Contains(l.followers, r):
		return fmt.Errorf("its leader %d does not know it", l.id)
	case commonPrefix(r.tokens, l.tokens) < r.until:
		return fmt.Errorf("it shares less than %d tokens with its leader %d", r.until, l.id)
	case s.limits.Checkpoints && r.until != l.reuse && !slices.Contains(l.stops, r.until):
		return fmt.Errorf("its leader %d does not stop at %d", l.id, r.until)
	}
	return nil
}

func (s *Scheduler) checkRunning(r *request) error {
	switch {
	case s.byID[r.id] != r:
		return fmt.Errorf("it is not found by its id")
	case r.seat < 0 || s.seats[r.seat] != r:
		return fmt.Errorf("it is not on its seat %d", r.seat)
	case r.leader != nil:
		return fmt.Errorf("it waits for request %d", r.leader.id)
	case r.read < r.reuse || r.read > len(r.tokens):
		return fmt.Errorf("read %d of %d tokens, %d reused", r.read, len(r.tokens), r.reuse)
	case r.lastChunk > s.chunks:
		return fmt.Errorf("read in chunk %d of %d", r.lastChunk, s.chunks)
	}
	pull, wake := never, len(r.tokens)
	for _, f := range r.followers {
		if f.leader != r || s.byID[f.id] != f {
			return fmt.Errorf("request %d does not wait for it", f.id)
		}
		pull, wake = min(pull, f.urge), min(wake, f.until)
	}
	if len(r.followers) > 0 && (pull != r.pull || wake != r.wake) {
		return fmt.Errorf("pull %d and wake %d, of its followers %d and %d", r.pull, r.wake, pull, wake)
	}
	if len(r.followers) == 0 && r.pull != never {
		return fmt.Errorf("pulled by nobody")
	}
	return nil
}

func (s *Scheduler) checkAccounts() error {
	alive := map[*account]int{}
	for _, r := range s.byID {
		alive[r.account]++
	}
	if len(alive) != len(s.accounts.busy) {
		return fmt.Errorf("%d accounts are busy, of %d requests' agents", len(s.accounts.busy), len(alive))
	}
	for _, a := range s.accounts.busy {
		if a.alive != alive[a] {
			return fmt.Errorf("agent %d: %d requests counted, %d alive", a.agent, a.alive, alive[a])
		}
		if a.service < s.accounts.floor {
			return fmt.Errorf("agent %d: service %g below the floor %g", a.agent, a.service, s.accounts.floor)
		}
		if a.agent != 0 && s.accounts.byAgent[a.agent] != a {
			return fmt.Errorf("agent %d has two accounts", a.agent)
		}
	}
	return nil
}
