package sched

import (
	"fmt"
	"slices"
)

// Room in the cache is not the scheduler's to count: the caller tries, and
// tells with Full when there was none. A request that was refused is not offered
// again before something was released (a room event), so that nobody tries in
// vain each step.
//
// Others may pass it meanwhile, since smaller ones may fit; but each that does
// takes room the refused one waits for. So passes are counted, and when passLimit
// is reached it becomes a barrier: nobody is placed before it, and it gets the
// next room. Cheap for the more urgent, dear for the rest.
const (
	passLimit  = 16
	passBetter = 1 // cost of being passed by a better class: at most 16 times
	passEqual  = 4 // by an equal or worse one: at most 4 times
)

// triesPerClass bounds the refusals between two room events.
const triesPerClass = 2

// A parked request may be parked again only after it generated so many tokens,
// twice as many each time, up to the most.
const (
	shieldFirst = 32
	shieldMost  = 1024
)

type roomState struct {
	events  uint64 // room events so far, from 1
	refused [Priorities]int
}

// roomWait is what a waiting request knows of its wait for room.
type roomWait struct {
	refusedAt uint64 // number of the room event after which it was refused last; 0 = never
	passed    int    // cost of those placed since it was refused
}

// Room tells that the cache has more room than before, by other means than the
// end of a request: a state was moved away.
func (s *Scheduler) Room() { s.roomChanged() }

func (s *Scheduler) roomChanged() {
	s.room.events++
	s.room.refused = [Priorities]int{}
	s.settled = false
}

// mayTry says whether a waiting request may ask for room.
func (s *Scheduler) mayTry(r *request) bool {
	if r.room.refusedAt == s.room.events {
		return false
	}
	return len(s.running) == 0 || s.room.refused[r.priority] < triesPerClass
}

// barrier is the longest waiting request that was passed as often as it may be,
// but for one that found no room although nothing runs: none will be released for
// it, and the others may fit.
func (s *Scheduler) barrier() *request {
	for _, r := range s.waiting {
		hopeless := len(s.running) == 0 && r.room.refusedAt == s.room.events
		if r.room.passed >= passLimit && r.leader == nil && !r.blocked && !hopeless {
			return r
		}
	}
	return nil
}

// countPassed charges those that wait for room with one who was placed.
func (s *Scheduler) countPassed(placed *request) {
	for _, r := range s.waiting {
		switch {
		case r.room.refusedAt == 0:
		case placed.priority < r.priority:
			r.room.passed += passBetter
		default:
			r.room.passed += passEqual
		}
	}
}

// Full tells that there was no room for a waiting request, and says whom to park
// for it: the running request of the lowest class, below its own (ages do not
// count), that lost least by it, but before all others one with a slow reader. ok = false: nobody, and Candidate does not name
// it again before a room event: Remove, Park or Room. If nothing runs then and the
// cache is not about to make room (after which Room is due), it will never fit:
// the caller ends it.
func (s *Scheduler) Full(now Tick, id ID) (victim ID, ok bool) {
	s.tick(now)
	r := s.byID[id]
	if r == nil || r.slot >= 0 {
		return 0, false
	}
	if v := s.cheapest(r.priority); v != nil {
		return v.id, true
	}
	r.room.refusedAt = s.room.events
	s.room.refused[r.priority]++
	s.settled = false
	return 0, false
}

// Preempt says whom to park so that a more urgent request gets a slot: ok only
// while none is free and somebody waits whose class is better than that of a
// running request (ages do not count), or a running one has a slow reader.
func (s *Scheduler) Preempt(now Tick) (victim ID, ok bool) {
	s.tick(now)
	if len(s.running) < s.limits.Slots || len(s.waiting) == 0 {
		return 0, false
	}
	s.releaseStalled()
	r := s.barrier()
	if r == nil {
		r = s.best() // not the longest waiting: its turn comes with the next free slot
	}
	if r == nil || !s.offerable(r) {
		return 0, false
	}
	if v := s.cheapest(r.priority); v != nil {
		return v.id, true
	}
	return 0, false
}

// cheapest of the running requests below a class, or with a slow reader: such a
// one computes nothing, and would else keep its slot from everybody for as long as
// its reader likes.
func (s *Scheduler) cheapest(below Priority) *request {
	var best *request
	for _, r := range s.running {
		if r.held || !r.blocked && (r.shielded() || base(r) <= below) {
			continue
		}
		if best == nil || cheaper(r, best) {
			best = r
		}
	}
	return best
}

func (r *request) shielded() bool { return r.generated < r.shield }

func cheaper(a, b *request) bool {
	if a.blocked != b.blocked {
		return a.blocked // nobody reads what it would generate
	}
	if pa, pb := base(a), base(b); pa != pb {
		return pa > pb
	}
	if la, lb := a.read+a.generated, b.read+b.generated; la != lb {
		return la < lb
	}
	return a.serial > b.serial
}

// Victim says which running request should give way when the cells of the
// running ones ran out: the lowest class (ages do not count), of that one with a
// slow reader, else not one that was parked lately, else the newest. So the
// oldest of the best class always goes on. Held ones are not named. Where the
// cells are wanted for one request, except, only those are that should give way
// before it; false means that it should itself. With except = 0, false = nobody is
// left.
func (s *Scheduler) Victim(now Tick, except ID) (ID, bool) {
	s.tick(now)
	best := s.byID[except]
	if best != nil && best.slot < 0 {
		best = nil
	}
	for _, r := range s.running {
		if !r.held && r.id != except && (best == nil || lessUrgent(r, best)) {
			best = r
		}
	}
	if best == nil || best.id == except {
		return 0, false
	}
	return best.id, true
}

func lessUrgent(a, b *request) bool {
	if pa, pb := base(a), base(b); pa != pb {
		return pa > pb
	}
	if a.blocked != b.blocked {
		return a.blocked
	}
	if a.shielded() != b.shielded() {
		return b.shielded()
	}
	return a.serial > b.serial
}

// Park makes a running request wait again, with tokens as its prompt: the old
// one and what was sampled since. It keeps its arrival, so that it ages and goes
// before newcomers. It is not placed again before the next room event: the room it
// gave is for others.
func (s *Scheduler) Park(now Tick, id ID, tokens []Token) error {
	s.tick(now)
	r := s.byID[id]
	if r == nil || r.slot < 0 {
		return fmt.Errorf("park request %d: it does not run", id)
	}
	if len(tokens) == 0 {
		return fmt.Errorf("park request %d: no tokens", id)
	}
	s.leave(r)
	r.tokens, r.reuse, r.read, r.generated, r.stops = tokens, 0, 0, 0, nil
	r.shield = min(shieldFirst<<min(r.parks, 8), shieldMost)
	r.parks++
	s.waiting = slices.Insert(s.waiting, s.waitingAt(r), r)
	s.roomChanged()
	if len(s.running) > 0 {
		r.room.refusedAt = s.room.events
	}
	s.findLeader(r)
	return nil
}
