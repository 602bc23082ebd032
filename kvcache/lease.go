package kvcache

import (
	"fmt"
	"slices"
)

// LeaseID names a running request.
type LeaseID uint64

// Request asks for a sequence that holds as much as possible of Tokens.
type Request struct {
	// Tokens of the whole prompt, at least one. The tree keeps the slice until
	// the lease ends; it must not change.
	Tokens []Token
	// Marks are positions where a later prompt may branch: the end of tools and
	// system, of a user turn, of a tool result, of an answer (SpanMarks adds those
	// of long stretches). Ascending, within the prompt. What is stored is cut there.
	Marks []int
	// Output is how many tokens may follow the prompt; cells are reserved for them.
	Output int
	// Session the prompt continues, 0 = none. Its own sequence is preferred.
	Session SessionID
	// Rank of who asks.
	Rank Rank
}

// Plan is what a lease got.
type Plan struct {
	Match
	// Slot is the sequence. Once ready it holds the first Reuse tokens.
	Slot int
	// Stops are the positions beyond Reuse at which reading must pause for a call
	// of Checkpoint.
	Stops []int
}

type lease struct {
	id        LeaseID
	request   Request
	slot      int
	session   SessionID
	plan      Plan
	node      *node // end of the reused tokens, while the job runs
	reserve   int   // cells it may still fill
	credit    int   // part of those that its victims hold now
	job       *job  // nil = ready
	cancelled bool
	err       error // it could not be placed again
}

// Acquire finds a slot for a request, room for its cells, and the best reuse.
// It fails with ErrFull if that has to wait, and with ErrTooLong if waiting
// would not help. Computing may begin when Ready says so.
func (t *Tree) Acquire(now Tick, r Request) (LeaseID, Plan, error) {
	t.tick(now)
	n := len(r.Tokens)
	switch {
	case n == 0 || r.Output < 0 || !slices.IsSorted(r.Marks) || len(r.Marks) > 0 && (r.Marks[0] < 0 || r.Marks[len(r.Marks)-1] > n):
		return 0, Plan{}, fmt.Errorf("request of %d tokens, %d more, marks %v: needs a token, and marks that ascend within the prompt", n, r.Output, r.Marks)
	case n+r.Output > t.cfg.longest():
		return 0, Plan{}, fmt.Errorf("%d tokens and %d more, a sequence holds %d: %w", n, r.Output, t.cfg.longest(), ErrTooLong)
	}
	t.lastLease++
	l := &lease{id: t.lastLease, request: r, slot: -1, session: r.Session}
	if err := t.place(l, ofAll); err != nil {
		return 0, Plan{}, err
	}
	t.leases[l.id] = l
	t.counts.entered(l, n)
	return l.id, l.plan, nil
}

// Ready returns the plan of a lease as it now is, and whether its sequence
// holds the reused tokens. A restore that failed may have made Reuse smaller,
// and where even that could not be placed the error says so: release the lease.
func (t *Tree) Ready(id LeaseID) (Plan, bool, error) {
	l := t.leases[id]
	if l == nil {
		return Plan{}, false, fmt.Errorf("lease %d: %w", id, ErrUnknown)
	}
	return l.plan, l.job == nil && l.err == nil, l.err
}

// Extend records that a lease's sequence now holds these tokens more. Tokens
// that were sampled but not decoded are not in the cache yet.
func (t *Tree) Extend(now Tick, id LeaseID, tokens []Token) error {
	l := t.leases[id]
	if l == nil || l.job != nil || l.err != nil {
		return fmt.Errorf("extend lease %d, which holds no sequence: %w", id, ErrUnknown)
	}
	t.tick(now)
	s := &t.slots[l.slot]
	n := min(len(tokens), l.reserve)
	l.reserve -= n
	t.reserved -= n
	s.over += len(tokens) - n
	for at := t.length(l); len(tokens) > 0; at = s.node.end {
		next := tokens
		if mark, ok := l.nextMark(at); ok {
			next = tokens[:min(len(tokens), mark-at)]
		}
		k := t.extend(l.slot, next)
		tokens = tokens[k:]
		if mark, ok := l.nextMark(at); ok && mark == s.node.end {
			s.node.mark = true
		}
	}
	if s.node != nil {
		s.node.last = t.now
	}
	return nil
}

// nextMark is the first mark behind a position.
func (l *lease) nextMark(at int) (mark int, ok bool) {
	marks := l.request.Marks
	i, _ := slices.BinarySearch(marks, at+1)
	if i == len(marks) {
		return 0, false
	}
	return marks[i], true
}

// extend moves a sequence along at most one node and returns how far.
func (t *Tree) extend(seq int, tokens []Token) int {
	x := t.slots[seq].node
	if x != nil && x.sole() {
		x.tokens = append(x.tokens, tokens...)
		x.end += len(tokens)
		t.cells += len(tokens)
		return len(tokens)
	}
	if x == nil {
		x = t.root
	}
	k := len(tokens)
	c := x.children[tokens[0]]
	if c == nil {
		c = t.grow(x, tokens)
	} else if k = common(c.tokens, tokens); k < len(c.tokens) {
		c = t.split(c, k)
	}
	t.enter(seq, c, -1, 0)
	t.tidy(x)
	return k
}

// sole reports whether a node means nothing but the sequence that stands on it,
// so that it can grow in place.
func (x *node) sole() bool {
	return len(x.children) == 0 && len(x.hot) == 1 && x.hot[0].count() == 1 && len(x.kv) == 0 &&
		len(x.states) == 0 && !x.mark && x.leases+x.sessions+x.pins == 0
}

// Reserve asks for cells for n tokens more than was said; idle sequences go for
// them. It fails with ErrFull if there are none; the owner then parks somebody.
// The actions are to be carried out before anything is computed; none waits for a disk.
func (t *Tree) Reserve(now Tick, id LeaseID, n int) error {
	l := t.leases[id]
	if l == nil || l.job != nil || l.err != nil || n < 0 {
		return fmt.Errorf("reserve %d tokens for lease %d: %w", n, id, ErrUnknown)
	}
	t.tick(now)
	j := &job{payee: l}
	_, freed, ok := t.makeCells(l.slot, n, j, true)
	if !t.cfg.Unified && t.length(l)+l.reserve+n > t.cfg.longest() || !ok {
		t.submit(j) // what was begun helps the next
		return fmt.Errorf("%d tokens more: %w", n, ErrFull)
	}
	freed = min(freed, n)
	l.reserve += n
	l.credit += freed
	t.reserved += n - freed
	t.submit(j)
	return nil
}

func (t *Tree) length(l *lease) int {
	if x := t.slots[l.slot].node; x != nil {
		return x.end
	}
	return 0
}

// Release ends a lease. Its sequence stays as a copy of what it holds, for its
// session, about which phase is the latest hint. Releasing twice is nothing.
func (t *Tree) Release(now Tick, id LeaseID, p Phase) {
	l := t.leases[id]
	if l == nil {
		return
	}
	t.tick(now)
	delete(t.leases, id)
	if l.job == nil && l.err == nil {
		t.slots[l.slot].node.raise(l.request.Rank)
	}
	if x := t.slots[l.slot].node; l.job == nil && l.err == nil && x != nil && l.session != 0 {
		t.remember(l.session, x, l.slot, p)
	}
	if l.job != nil {
		l.cancelled = true // its actions are under way
		return
	}
	t.end(l)
}

// Discard ends a lease whose sequence cannot be trusted any more.
func (t *Tree) Discard(now Tick, id LeaseID) {
	l := t.leases[id]
	if l == nil {
		return
	}
	l.session = 0 // nothing to come back to
	t.Release(now, id, Unknown)
	if l.job == nil {
		t.slots[l.slot].dirty, t.slots[l.slot].busy = true, true
		t.clean(l.slot)
	}
}

// end gives back what a lease holds.
func (t *Tree) end(l *lease) {
	t.reserved -= l.reserve - l.credit
	l.reserve, l.credit = 0, 0
	s := &t.slots[l.slot]
	s.lease, s.busy = nil, false
	if s.node != nil {
		s.session = l.session
	}
}

// clean clears a sequence that cannot be trusted, once nobody reads it. Forks of
// it that were not begun are planned anew (stands).
func (t *Tree) clean(seq int) {
	s := &t.slots[seq]
	switch {
	case !s.dirty || s.holds > 0:
	case s.node == nil:
		s.dirty, s.busy = false, false
	default:
		s.dirty = false
		t.submit(&job{steps: []*step{{Action: Action{Kind: Clear, Seq: seq}}}})
	}
}

// pay turns cells that were freed into those a lease was promised.
func (t *Tree) pay(l *lease, cells int) {
	if l != nil {
		n := min(l.credit, cells)
		l.credit -= n
		t.reserved += n
	}
}

// SpanMarks adds marks so that no stretch without one is longer than limit.
func SpanMarks(marks []int, length, limit int) []int {
	out, last := []int{}, 0
	for _, m := range append(slices.Clone(marks), length) {
		for last+limit < m {
			last += limit
			out = append(out, last)
		}
		if m < length || len(marks) > 0 && marks[len(marks)-1] == length {
			out = append(out, m)
		}
		last = m
	}
	return slices.Compact(out)
}
