package sched

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrQueueFull is returned by Add when as many requests wait as may.
var ErrQueueFull = errors.New("waiting queue is full")

// Tick is a point in time or a duration, in nanoseconds of the caller's clock.
// The scheduler has none: each call brings its own now. A now that lies before
// an earlier one counts as that earlier one.
type Tick = int64

// Token is a token id of the model's vocabulary.
type Token = int32

// ID names a request. The caller makes it, unique among those alive, not 0.
type ID uint64

// Priority is the class of a request; the smaller the more urgent.
type Priority uint8

// The classes.
const (
	Interactive Priority = iota // a person waits
	Planner                     // other agents wait for what it plans
	Merge                       // joins or judges the work of others
	Worker
	Background
	Priorities = iota // how many there are
)

// second in Ticks.
const second Tick = 1e9

// Limits of a Scheduler. Slots and Chunk must be at least 1; of the others 0
// means none (Queue) or the default.
type Limits struct {
	Slots int // sequences that run at once
	Queue int // requests that may wait beyond those
	Chunk int // prompt tokens read in one step at most
	// Gap is the longest time that should pass between two tokens of the running
	// streams while a prompt is read. 0 = GapSteps (default 3) decode steps. Where
	// only workers and less urgent ones run, it may be three times as long.
	Gap      Tick
	GapSteps float64
	// MinChunk is read at least, whatever Gap says: smaller ones are so
	// inefficient that the prompt would never end. Default 16, at most Chunk.
	MinChunk int
	// Wide: chunks of so many tokens and more take another path of the engine than
	// smaller ones, so that their costs are not to be mixed. 0 = all are alike.
	Wide int
	// Age: a request that has waited so long is raised by one class, and again
	// each time it passes. Default 10 s.
	Age Tick
	// Group is how many tokens another request must be about to read before it is
	// worth while to wait for them. Default 32.
	Group int
	// Checkpoints: the model is recurrent or hybrid, so that only the stops of a
	// request can be shared (see Admit).
	Checkpoints bool
}

func (l Limits) withDefaults() (Limits, error) {
	if l.GapSteps == 0 {
		l.GapSteps = 3
	}
	if l.MinChunk == 0 {
		l.MinChunk = min(16, l.Chunk)
	}
	if l.Age == 0 {
		l.Age = 10 * second
	}
	if l.Group == 0 {
		l.Group = 32
	}
	switch {
	case l.Slots < 1 || l.Chunk < 1:
		return l, fmt.Errorf("scheduler limits %+v: Slots and Chunk must be at least 1", l)
	case l.Queue < 0 || l.Gap < 0 || l.Age < 0 || l.Group < 0 || l.Wide < 0:
		return l, fmt.Errorf("scheduler limits %+v: Queue, Gap, Age, Group and Wide must not be negative", l)
	case l.MinChunk < 1 || l.MinChunk > l.Chunk:
		return l, fmt.Errorf("scheduler limits %+v: MinChunk must be between 1 and Chunk", l)
	case !(l.GapSteps > 1) || math.IsInf(l.GapSteps, 0):
		return l, fmt.Errorf("scheduler limits %+v: GapSteps must be more than 1, since a gap holds one step already", l)
	}
	return l, nil
}

// Scheduler holds who waits and who runs. It is not safe for concurrent use.
type Scheduler struct {
	limits   Limits
	now      Tick // the latest seen
	byID     map[ID]*request
	waiting  []*request // in order of arrival
	running  []*request // in order of slot
	seats    []*request // running requests by seat, nil = free
	serial   uint64     // last one given to an arriving request
	stay     uint64     // last one given to a request that got a slot
	settled  bool       // nothing changed since Candidate found nobody
	turn     int        // placements that passed over the one that waits longest
	room     roomState
	accounts accounts
	cost     costs
	slice    Tick   // see Slice
	chunks   uint64 // chunks read so far
	deadline Tick   // no deadline lies before it
	rows     []Row
	decoding []*request // those of rows
}

// New makes a Scheduler.
func New(limits Limits) (*Scheduler, error) {
	limits, err := limits.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Scheduler{
		limits: limits, now: math.MinInt64, byID: map[ID]*request{}, seats: make([]*request, limits.Slots),
		room: roomState{events: 1}, accounts: newAccounts(), deadline: never,
	}, nil
}

// Request asks for an answer to a prompt.
type Request struct {
	ID ID
	// Tokens of the whole prompt, at least one. The slice is kept and must not
	// change.
	Tokens []Token
	// Agent that asks. Agents of one class take turns. 0 = none: the request
	// counts as an agent of its own.
	Agent    uint64
	Priority Priority
	// Deadline after which the answer is of no use, 0 = none.
	Deadline Tick
	// Cached tokens of the prompt are known to lie in the cache already, so that
	// nobody needs to be waited for up to there. 0 where it is not known.
	Cached int
}

// Add queues a request. It fails with ErrQueueFull when Slots + Queue requests
// are alive: those that wait are then more than Queue and the free slots.
func (s *Scheduler) Add(now Tick, q Request) error {
	s.tick(now)
	switch {
	case q.ID == 0 || s.byID[q.ID] != nil:
		return fmt.Errorf("add request %d: the id is 0 or taken", q.ID)
	case len(q.Tokens) == 0:
		return fmt.Errorf("add request %d: no tokens", q.ID)
	case q.Priority >= Priorities:
		return fmt.Errorf("add request %d: priority %d is not one of the %d classes", q.ID, q.Priority, Priorities)
	case len(s.byID) >= s.limits.Slots+s.limits.Queue:
		return ErrQueueFull
	}
	s.serial++
	r := &request{
		id: q.ID, tokens: q.Tokens, priority: q.Priority, deadline: q.Deadline, cached: q.Cached,
		arrival: s.now, serial: s.serial, slot: -1, seat: -1, pull: never, urge: urge(q.Priority, s.now, s.limits.Age),
	}
	r.account = s.accounts.open(q.Agent)
	s.byID[r.id] = r
	s.waiting = append(s.waiting, r)
	if r.deadline != 0 {
		s.deadline = min(s.deadline, r.deadline)
	}
	s.findLeader(r)
	s.settled = false
	return nil
}

// Remove forgets a request that finished or was cancelled and says which slot
// it held, -1 if it waited or is unknown.
func (s *Scheduler) Remove(now Tick, id ID) (slot int) {
	s.tick(now)
	r := s.byID[id]
	if r == nil {
		return -1
	}
	slot = r.slot
	if r.slot >= 0 {
		s.leave(r)
	} else {
		s.unfollow(r)
		s.waiting = slices.Delete(s.waiting, s.waitingAt(r), s.waitingAt(r)+1)
	}
	delete(s.byID, id)
	s.accounts.close(r.account)
	s.roomChanged()
	return slot
}

// leave takes a running request out of its slot and frees who waited for it.
func (s *Scheduler) leave(r *request) {
	i, _ := s.runningAt(r.slot)
	s.running = slices.Delete(s.running, i, i+1)
	s.seats[r.seat] = nil
	r.slot, r.seat, r.held = -1, -1, false
	s.freeFollowers(r, func(*request) bool { return true })
}

// Block says that the reader of a request is slow (true) or caught up. A blocked
// request is not decoded; one that waits is not placed.
func (s *Scheduler) Block(id ID, blocked bool) {
	if r := s.byID[id]; r != nil {
		r.blocked = blocked
		s.settled = false
	}
}

// Hold says that the state of a running request is being fetched (true) or is
// there. A held request keeps its slot, and is neither read nor decoded.
func (s *Scheduler) Hold(id ID, held bool) {
	r := s.byID[id]
	if r == nil || r.slot < 0 || r.held == held {
		return
	}
	r.held, r.heldSince = held, s.now
	if !held {
		r.lastChunk = s.chunks
		s.offerLeader(r)
	}
	s.settled = false
}

// tick moves the clock, never back.
func (s *Scheduler) tick(now Tick) {
	s.now = max(s.now, now)
	s.accounts.decay(s.now)
}
