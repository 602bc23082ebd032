package kvcache

import (
	"fmt"
	"slices"
)

// reuse says of what a lease may take what is there.
type reuse uint8

const (
	ofAll     reuse = iota
	ofObjects       // not of sequences
	ofNothing
)

// place plans a lease: what to reuse, in which slot, who goes for it. A lease
// that has a slot keeps it.
func (t *Tree) place(l *lease, of reuse) error {
	tokens, n := l.request.Tokens, len(l.request.Tokens)
	tr := t.match(tokens)
	src := source{seq: -1}
	switch of {
	case ofAll:
		src = t.choose(tr, n-1, n, t.usable(), t.own(l.session))
	case ofObjects:
		src = t.choose(tr, n-1, n, seqSet{}, -1)
	}
	l.plan.Match = t.describe(tokens, tr, src, l.session)
	l.plan.Stops = t.stops(l.request.Marks, tr, src.at, n)
	src.end = t.nodeAt(tr, src.at)
	src.fork = t.nodeAt(t.match(tokens[:src.shared]), src.shared)
	t.grab(src)
	j := &job{lease: l}
	take, err := t.seat(l, src, j)
	if err != nil {
		t.letGo(src)
		t.submit(&job{steps: j.steps, held: j.held}) // what was begun helps the next
		switch {                                     // what is to be reused may be what has to go
		case l.slot >= 0:
		case src.seq >= 0:
			return t.place(l, ofObjects)
		case src.at > 0:
			return t.place(l, ofNothing)
		}
		return err
	}
	s := &t.slots[l.slot]
	s.lease, s.busy = l, true
	l.plan.Slot = l.slot
	if src.at > 0 {
		t.touch(src.end)
	}
	if take && s.node == src.end || src.at == 0 {
		t.letGo(src)
	} else {
		j.add(t.restore(l, src))
	}
	l.job = j
	if len(j.steps) == 0 {
		t.finish(j)
	} else {
		t.submit(j)
	}
	return nil
}

// restore is the step that brings the reused tokens into the lease's sequence.
func (t *Tree) restore(l *lease, src source) *step {
	a := Action{Kind: Restore, Seq: l.slot, From: src.seq, At: src.at, Shared: src.shared}
	for _, p := range src.pieces {
		target := t.target(p.object)
		target.From, target.To = p.from, p.to
		a.Pieces = append(a.Pieces, target)
	}
	if src.state != nil {
		a.State = src.state.id
	}
	return &step{Action: a, src: src}
}

// stops are the marks that lie beyond the reuse and have no state yet.
func (t *Tree) stops(marks []int, tr trail, at, n int) []int {
	if !t.cfg.Checkpoints {
		return nil
	}
	out := slices.Clone(marks)
	for _, x := range tr.nodes {
		switch {
		case x.end > tr.length:
		case len(x.states) > 0:
			out = slices.DeleteFunc(out, func(m int) bool { return m == x.end })
		case x.pins > 0:
			out = append(out, x.end)
		}
	}
	out = slices.DeleteFunc(out, func(m int) bool { return m <= at || m > n })
	slices.Sort(out)
	return slices.Compact(out)
}

// grab holds what a source reads, and keeps its positions ends of nodes.
func (t *Tree) grab(src source) {
	src.end.leases++
	src.fork.leases++
	if src.seq >= 0 {
		t.slots[src.seq].holds++
	}
	for _, p := range src.pieces {
		t.hold(p.object)
	}
	if src.state != nil {
		t.hold(src.state)
	}
}

// letGo is the opposite of grab.
func (t *Tree) letGo(src source) {
	if src.seq >= 0 {
		t.slots[src.seq].holds--
		t.clean(src.seq)
	}
	src.end.leases--
	src.fork.leases--
	for _, p := range src.pieces {
		t.unhold(p.object)
	}
	if src.state != nil {
		t.unhold(src.state)
	}
	t.tidy(src.end)
	t.tidy(src.fork)
}

// seat gives a lease its slot and reserves its cells.
func (t *Tree) seat(l *lease, src source, j *job) (take bool, err error) {
	slot := l.slot
	if slot < 0 && t.mayTake(l, src, false) {
		slot, take = src.seq, true
	}
	if slot < 0 {
		slot = t.freeSlot()
	}
	if slot < 0 && t.victim(false, j.victims, seqSet{}) < 0 && t.mayTake(l, src, true) {
		// Nobody else can go: what the sequence holds is saved, then it is used.
		slot, take = src.seq, true
		if !t.save(slot, j, false, false) {
			t.counts.Lost++
		}
	}
	need, credit := len(l.request.Tokens)+l.request.Output, 0
	switch {
	case take:
		need -= src.at
		var self seqSet
		self.add(slot)
		credit = t.lone(slot, self, src.end)
		t.slots[slot].busy = true // no victim
	case t.cfg.Unified:
		need -= src.shared
	}
	slot, freed, ok := t.makeCells(slot, need-credit, j, false)
	if !ok {
		if take {
			t.slots[src.seq].busy = false
			if len(j.steps) > 0 { // what of it is being saved stays until then
				t.slots[src.seq].holds++
				j.held = src.seq + 1
			}
		}
		return false, fmt.Errorf("%d tokens: %w", len(l.request.Tokens)+l.request.Output, ErrFull)
	}
	l.slot, l.reserve, l.credit = slot, need, min(credit+freed, need)
	t.reserved += l.reserve - l.credit
	return take, nil
}

// mayTake reports whether a lease may go on in the sequence it would reuse,
// rather than fork it: it is the session's own, or nobody's and not needed, or
// there is no other way (force).
func (t *Tree) mayTake(l *lease, src source, force bool) bool {
	if src.seq < 0 || src.shared != src.at {
		return false
	}
	s := &t.slots[src.seq]
	if s.node == nil || s.lease != nil || s.busy || s.holds > 1 { // 1 is our own
		return false
	}
	exact := s.node == src.end
	if t.pinnedBy(src.seq, src.end) {
		return false
	}
	if force {
		return true
	}
	if s.session != 0 {
		return s.session == l.session
	}
	return exact && (!t.cfg.Checkpoints || t.hasState(src.end))
}

// pinnedBy reports whether cutting a sequence back to keep, or going on from
// there, loses the last copy of something pinned.
func (t *Tree) pinnedBy(seq int, keep *node) (lost bool) {
	x := t.slots[seq].node
	if t.cfg.Checkpoints && x.pins > 0 && !t.hasState(x) && x.standing.count() == 1 {
		return true
	}
	for y := x; y != keep && y.parent != nil; y = y.parent {
		if y.pinned > 0 && rowsOf(y) == nil && len(y.hot) == 1 && y.hot[0].count() == 1 {
			return true
		}
	}
	return false
}

func (t *Tree) hasState(x *node) bool {
	return slices.ContainsFunc(x.states, func(o *object) bool { return o.phase == live && !o.doomed })
}

// freeSlot is the lowest empty slot, so that running ids stay dense; -1 = none.
func (t *Tree) freeSlot() int {
	return slices.IndexFunc(t.slots, func(s slot) bool { return s.node == nil && s.lease == nil && !s.busy && s.holds == 0 })
}

// again plans a lease anew after its restore failed or lost its source.
func (t *Tree) again(j *job, of reuse) {
	l := j.lease
	t.reserved -= l.reserve - l.credit
	l.reserve, l.credit = 0, 0
	l.job = nil
	if l.cancelled {
		t.end(l)
		return
	}
	if err := t.place(l, of); err != nil {
		l.err = err
		t.slots[l.slot].busy = false
	}
}

// stands reports whether the source of a restore still is what was planned: a
// recurrent state that was to come from a running sequence moves on with it.
func (t *Tree) stands(s *step) bool {
	if s.src.seq < 0 || s.src.seq == s.Seq {
		return true
	}
	from := &t.slots[s.src.seq]
	state := t.cfg.Checkpoints && s.src.state == nil
	return !from.dirty && (!state || from.node == s.src.end)
}

// restored ends a Restore. It reports false if the lease was planned anew.
func (t *Tree) restored(j *job, s *step, r Result) bool {
	l, src := j.lease, s.src
	inPlace := src.seq == l.slot
	if r.Err == nil {
		if inPlace {
			t.pay(l, t.leave(l.slot, src.end))
		} else {
			filled := t.enter(l.slot, src.end, src.seq, src.shared)
			l.reserve -= filled
			t.reserved -= filled
		}
		t.letGo(src)
		return true
	}
	if inPlace {
		t.pay(l, t.leave(l.slot, nil))
	}
	t.letGo(src)
	bad := t.objects[r.Bad]
	if bad != nil {
		t.condemn(bad)
	}
	if bad == nil {
		t.again(j, ofNothing) // whatever it was may fail again
	} else {
		t.again(j, ofAll)
	}
	return false
}
