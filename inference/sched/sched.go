// Package sched decides what a model computes next: which waiting request gets
// a sequence, which sequences decode, and which chunk of which prompt is read.
//
// It is pure: integers in, a Step out, no engine, clock, lock or goroutine. The
// owner of a model (package llm) calls it and carries the Step out. Requests
// are served first come, first served.
//
// Invariants (checked by Check, which the tests call after every operation):
// a request is either waiting or holds exactly one slot; a slot holds at most
// one request; slots are handed out lowest first, so that active sequence ids
// stay dense (a gap in them costs the engine another pass).
package sched

import (
	"errors"
	"fmt"
	"slices"
)

// ErrQueueFull is returned by Add when as many requests wait as may.
var ErrQueueFull = errors.New("waiting queue is full")

// Limits of a Scheduler, all at least 1 except Queue.
type Limits struct {
	Slots int // sequences that run at once
	Queue int // requests that may wait beyond those; 0 = none
	// Chunk is the most prompt tokens read in one step. ChunkBusy is used
	// instead while other sequences decode: it bounds how long they stand still.
	Chunk, ChunkBusy int
}

// ID names a request. The caller makes it, unique among those alive.
type ID uint64

// Row is one sequence that decodes a token in this step.
type Row struct {
	ID   ID
	Slot int
}

// Chunk is the piece of a prompt that is read in this step: tokens
// [From, From+N). Last says that it ends the prompt. N = 0 means none.
type Chunk struct {
	ID   ID
	Slot int
	From int
	N    int
	Last bool
}

// Step is what to compute now: first one decode of all rows, then one chunk.
// Decode is ordered by slot and borrowed until the next call of Next.
type Step struct {
	Decode  []Row
	Prefill Chunk
}

// Empty reports whether there is nothing to compute.
func (s Step) Empty() bool { return len(s.Decode) == 0 && s.Prefill.N == 0 }

type request struct {
	id      ID
	prompt  int // tokens in all
	read    int // of them in the cache
	blocked bool
}

// Scheduler holds who waits and who runs. It is not safe for concurrent use.
type Scheduler struct {
	limits  Limits
	slots   []*request // by slot; nil = free
	order   []*request // running, in order of arrival
	waiting []*request
	rows    []Row
}

// New makes a Scheduler.
func New(limits Limits) (*Scheduler, error) {
	if limits.Slots < 1 || limits.Chunk < 1 || limits.ChunkBusy < 1 || limits.Queue < 0 {
		return nil, fmt.Errorf("scheduler limits %+v: slots and chunks must be at least 1, queue at least 0", limits)
	}
	return &Scheduler{limits: limits, slots: make([]*request, limits.Slots)}, nil
}

// Add queues a request with a prompt of that many tokens (at least 1). It fails
// with ErrQueueFull when every slot is taken and the queue is full.
func (s *Scheduler) Add(id ID, prompt int) error {
	if len(s.waiting) >= s.limits.Queue+s.free() {
		return ErrQueueFull
	}
	s.waiting = append(s.waiting, &request{id: id, prompt: max(prompt, 1)})
	return nil
}

func (s *Scheduler) free() int { return len(s.slots) - len(s.order) }

// Remove forgets a request that finished or was cancelled and says which slot
// it held, -1 if it was waiting or unknown.
func (s *Scheduler) Remove(id ID) (slot int) {
	is := func(r *request) bool { return r.id == id }
	s.waiting = slices.DeleteFunc(s.waiting, is)
	s.order = slices.DeleteFunc(s.order, is)
	for i, r := range s.slots {
		if r != nil && r.id == id {
			s.slots[i] = nil
			return i
		}
	}
	return -1
}

// Block keeps a running sequence out of the decode rows (its reader is slow)
// until it is unblocked.
func (s *Scheduler) Block(id ID, blocked bool) {
	for _, r := range s.order {
		if r.id == id {
			r.blocked = blocked
		}
	}
}

// Read records that n more tokens of a prompt are in the cache.
func (s *Scheduler) Read(id ID, n int) {
	for _, r := range s.order {
		if r.id == id {
			r.read = min(r.read+n, r.prompt)
		}
	}
}

// Next gives free slots to the longest waiting and says what to compute.
func (s *Scheduler) Next() Step {
	s.admit()
	s.rows = s.rows[:0]
	for slot, r := range s.slots {
		if r != nil && r.read == r.prompt && !r.blocked {
			s.rows = append(s.rows, Row{ID: r.id, Slot: slot})
		}
	}
	return Step{Decode: s.rows, Prefill: s.chunk(len(s.rows) > 0)}
}

func (s *Scheduler) admit() {
	for slot := range s.slots {
		if len(s.waiting) == 0 {
			return
		}
		if s.slots[slot] != nil {
			continue
		}
		r := s.waiting[0]
		s.waiting = slices.Delete(s.waiting, 0, 1)
		s.slots[slot] = r
		s.order = append(s.order, r)
	}
}

// chunk picks the oldest prompt that is not read yet.
func (s *Scheduler) chunk(busy bool) Chunk {
	for _, r := range s.order {
		left := r.prompt - r.read
		if left == 0 {
			continue
		}
		n := s.limits.Chunk
		if busy {
			n = s.limits.ChunkBusy
		}
		n = min(n, left)
		return Chunk{ID: r.id, Slot: slices.Index(s.slots, r), From: r.read, N: n, Last: n == left}
	}
	return Chunk{}
}

// Counts of requests by where they are.
type Counts struct{ Waiting, Prefilling, Decoding, Blocked int }

// Counts says how many requests wait, read their prompt, decode and are blocked.
func (s *Scheduler) Counts() Counts {
	c := Counts{Waiting: len(s.waiting)}
	for _, r := range s.order {
		switch {
		case r.read < r.prompt:
			c.Prefilling++
		case r.blocked:
			c.Blocked++
		default:
			c.Decoding++
		}
	}
	return c
}

// Check verifies the invariants in the package comment.
func (s *Scheduler) Check() error {
	seen := map[ID]bool{}
	for _, r := range append(slices.Clone(s.waiting), s.order...) {
		if seen[r.id] {
			return fmt.Errorf("request %d is held twice", r.id)
		}
		seen[r.id] = true
		if r.read < 0 || r.read > r.prompt {
			return fmt.Errorf("request %d read %d of %d tokens", r.id, r.read, r.prompt)
		}
	}
	held := 0
	for slot, r := range s.slots {
		if r == nil {
			continue
		}
		held++
		if !slices.Contains(s.order, r) {
			return fmt.Errorf("slot %d holds request %d, which is not running", slot, r.id)
		}
	}
	if held != len(s.order) {
		return fmt.Errorf("%d slots held by %d running requests", held, len(s.order))
	}
	if len(s.waiting) > s.limits.Queue+s.free() {
		return fmt.Errorf("%d wait, %d may", len(s.waiting), s.limits.Queue+s.free())
	}
	return nil
}
