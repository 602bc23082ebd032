package sched

import (
	"cmp"
	"fmt"
	"slices"
)

// turns: at least each turns-th placement goes to the request that waits
// longest, if it has waited for Age. With k older ones waiting, a request is so
// placed within turns*(k+1) placements, whatever its class and whoever comes.
const turns = 4

// turnShield is how many tokens a request that got its slot in its turn, or as a
// barrier (room.go), may generate before a more urgent one may take it away again.
const turnShield = 32

// Candidate says whom to place next, the best of those that wait: by aged
// class, then the agent with the least service, then the earliest deadline, then
// arrival. It passes over those that wait for a leader, found no room lately or
// have a slow reader. false: nobody, or no slot is free. It changes nothing:
// answer with Admit, Full or Remove.
func (s *Scheduler) Candidate(now Tick) (ID, bool) {
	s.tick(now)
	s.releaseStalled()
	if s.settled || len(s.running) == s.limits.Slots || len(s.waiting) == 0 {
		return 0, false
	}
	r := s.candidate()
	if r == nil {
		s.settled = true
		return 0, false
	}
	return r.id, true
}

func (s *Scheduler) candidate() *request {
	if b := s.barrier(); b != nil {
		if s.offerable(b) {
			return b
		}
		return nil
	}
	if s.turn >= turns-1 {
		if r := s.longest(); r != nil {
			return r
		}
	}
	return s.best()
}

// best of those that may be placed.
func (s *Scheduler) best() *request {
	var best *request
	var bestClass Priority
	for _, r := range s.waiting {
		if !s.offerable(r) {
			continue
		}
		c := s.class(r)
		if best == nil || c < bestClass || c == bestClass && s.before(r, best) {
			best, bestClass = r, c
		}
	}
	return best
}

// before is the order within a class.
func (s *Scheduler) before(a, b *request) bool {
	if c := cmp.Compare(s.accounts.tag(a), s.accounts.tag(b)); c != 0 {
		return c < 0
	}
	if c := cmp.Compare(due(a), due(b)); c != 0 {
		return c < 0
	}
	return a.serial < b.serial
}

func due(r *request) Tick {
	if r.deadline == 0 {
		return never
	}
	return r.deadline
}

// offerable says whether a waiting request may be placed now.
func (s *Scheduler) offerable(r *request) bool {
	return r.leader == nil && !r.blocked && s.mayTry(r)
}

// longest is the request that waits longest, of those that may be placed and
// have waited for Age.
func (s *Scheduler) longest() *request {
	for _, r := range s.waiting {
		if s.now-r.arrival < s.limits.Age {
			return nil
		}
		if s.offerable(r) {
			return r
		}
	}
	return nil
}

// Admit says that a waiting request runs now in sequence slot, which holds its
// first reuse tokens; at least one is left to read. Reading pauses at each of
// stops, ascending positions in the prompt: a chunk never crosses one. With
// Limits.Checkpoints they are also the only positions up to which others can
// share with it.
func (s *Scheduler) Admit(now Tick, id ID, slot, reuse int, stops []int) error {
	s.tick(now)
	r := s.byID[id]
	at, taken := s.runningAt(slot)
	switch {
	case r == nil || r.slot >= 0:
		return fmt.Errorf("admit request %d: it does not wait", id)
	case slot < 0 || taken:
		return fmt.Errorf("admit request %d: sequence %d is negative or taken", id, slot)
	case len(s.running) == s.limits.Slots:
		return fmt.Errorf("admit request %d: all %d slots are taken", id, s.limits.Slots)
	case reuse < 0 || reuse >= len(r.tokens):
		return fmt.Errorf("admit request %d: %d of its %d tokens reused, one at least must be read", id, reuse, len(r.tokens))
	case !ascending(stops, len(r.tokens)):
		return fmt.Errorf("admit request %d: stops %v do not ascend within its %d tokens", id, stops, len(r.tokens))
	}
	s.countTurn(r)
	s.unfollow(r)
	i := s.waitingAt(r)
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.running = slices.Insert(s.running, at, r)
	s.stay++
	r.slot, r.seat, r.stay = slot, slices.Index(s.seats, nil), s.stay
	s.seats[r.seat] = r
	r.reuse, r.read, r.generated, r.stops, r.lastChunk = reuse, reuse, 0, slices.Clone(stops), s.chunks
	if r.room.passed >= passLimit {
		r.shield = max(r.shield, turnShield)
	}
	r.common, r.room = nil, roomWait{}
	s.countPassed(r)
	s.offerLeader(r)
	s.settled = false
	return nil
}

func ascending(stops []int, length int) bool {
	last := 0
	for _, p := range stops {
		if p <= last || p > length {
			return false
		}
		last = p
	}
	return true
}

// countTurn counts the placements that pass over the one that waits longest.
func (s *Scheduler) countTurn(placed *request) {
	switch oldest := s.longest(); {
	case oldest == nil || placed.serial > oldest.serial:
		if oldest != nil {
			s.turn++
		}
	case s.turn >= turns-1:
		placed.shield = max(placed.shield, turnShield)
		fallthrough
	default:
		s.turn = 0
	}
}
