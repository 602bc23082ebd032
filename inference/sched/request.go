package sched

import (
	"cmp"
	"math"
	"slices"
)

// never is later than any Tick.
const never Tick = math.MaxInt64

// always is the urge of what cannot become more urgent.
const always Tick = math.MinInt64

type request struct {
	id       ID
	tokens   []Token
	account  *account
	priority Priority
	deadline Tick
	arrival  Tick
	serial   uint64 // order of arrival
	urge     Tick   // its class at any time follows from it, see class
	cached   int
	charged  float64 // tokens charged to its account for it
	blocked  bool

	// While it waits.
	leader *request // reads what this one needs too; nil = waits for nobody
	until  int      // tokens the leader must have read
	led    int      // leaders so far
	common []common // by seat of the running request
	room   roomWait

	// While it runs.
	slot, seat int    // -1 = it waits
	stay       uint64 // differs each time it gets a slot
	reuse      int
	read       int // tokens of the prompt that are in the cache
	generated  int // since it got its slot
	stops      []int
	held       bool
	heldSince  Tick
	lastChunk  uint64 // value of Scheduler.chunks when it was read last
	followers  []*request
	pull       Tick // least urge among the followers; never = none
	wake       int  // least until among the followers

	parks  int // how often it was parked
	shield int // generated tokens before it may be parked again
}

func (r *request) reading() bool { return r.slot >= 0 && r.read < len(r.tokens) }

func (r *request) left() int { return len(r.tokens) - r.read }

// urge makes of priority and arrival one number from which the class follows at
// any time, so that the most urgent of many has the smallest.
func urge(p Priority, arrival, age Tick) Tick {
	if p == Interactive {
		return always
	}
	return arrival + Tick(p)*age
}

// class is the aged class: one better for each age waited. It ends at Planner:
// with hundreds waiting, all of them would else come before a person. That
// nobody starves is the work of the turns (place.go).
func class(urge, now, age Tick) Priority {
	switch left := urge - now; {
	case urge == always:
		return Interactive
	case urge == never:
		return Priorities
	case left <= age:
		return Planner
	default:
		return Priority((left + age - 1) / age)
	}
}

func (s *Scheduler) class(r *request) Priority { return class(r.urge, s.now, s.limits.Age) }

// readClass is the class in which a prompt is read: not below that of anybody
// who waits for it.
func (s *Scheduler) readClass(r *request) Priority {
	return min(s.class(r), class(r.pull, s.now, s.limits.Age))
}

// base is the class that counts when somebody must give way: not aged, since two
// aged requests would park each other in turn, but that of who waits for it.
func base(r *request) Priority {
	p := r.priority
	for _, f := range r.followers {
		p = min(p, f.priority)
	}
	return p
}

func (s *Scheduler) waitingAt(r *request) int {
	i, _ := slices.BinarySearchFunc(s.waiting, r.serial, func(w *request, serial uint64) int { return cmp.Compare(w.serial, serial) })
	return i
}

func (s *Scheduler) runningAt(slot int) (int, bool) {
	return slices.BinarySearchFunc(s.running, slot, func(r *request, slot int) int { return cmp.Compare(r.slot, slot) })
}
