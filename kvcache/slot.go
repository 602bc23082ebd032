package kvcache

import (
	"math"
	"slices"
)

// slot is a sequence of the context.
type slot struct {
	node    *node // where it ends; nil = empty
	lease   *lease
	session SessionID // whose tokens it holds, 0 = nobody's
	busy    bool      // an action that changes or saves it is planned
	holds   int       // forks that read it
	dirty   bool      // to be cleared as soon as nobody reads it
	over    int       // cells filled beyond any reservation
}

// idle sequences may be taken or cleared.
func (s *slot) idle() bool {
	return s.node != nil && s.lease == nil && !s.busy && s.holds == 0
}

// usable is the set of sequences that can be forked from.
func (t *Tree) usable() (set seqSet) {
	for i := range t.slots {
		if s := &t.slots[i]; s.node != nil && !s.busy {
			set.add(i)
		}
	}
	return set
}

// enter puts a sequence on the path that ends at x, below the node where it
// stood. In a unified pool it shares the cells of src up to a position.
func (t *Tree) enter(seq int, x *node, src, shared int) (cells int) {
	s := &t.slots[seq]
	stop := s.node
	for y := x; y != stop && y.parent != nil; y = y.parent {
		i := -1
		if src >= 0 && t.cfg.Unified && y.end <= shared {
			i = slices.IndexFunc(y.hot, func(g seqSet) bool { return g.has(src) })
		}
		if i < 0 {
			y.hot = append(y.hot, seqSet{})
			i = len(y.hot) - 1
			cells += len(y.tokens)
		}
		y.hot[i].add(seq)
	}
	if stop != nil {
		stop.standing.del(seq)
	}
	s.node = x
	x.standing.add(seq)
	t.cells += cells
	return cells
}

// leave takes a sequence off its path down to, but not including, keep; nil
// keeps nothing and empties it.
func (t *Tree) leave(seq int, keep *node) (cells int) {
	s := &t.slots[seq]
	from := s.node
	if from == nil {
		return 0
	}
	from.standing.del(seq)
	for y := from; y != keep && y.parent != nil; y = y.parent {
		i := slices.IndexFunc(y.hot, func(g seqSet) bool { return g.has(seq) })
		y.hot[i].del(seq)
		if y.hot[i].empty() {
			y.hot = slices.Delete(y.hot, i, i+1)
			cells += len(y.tokens)
		}
	}
	s.node = keep
	if keep != nil {
		keep.standing.add(seq)
	} else {
		s.session, s.over, s.dirty = 0, 0, false
	}
	t.cells -= cells
	t.prune(from)
	return cells
}

// lone counts the cells that exist only for sequences of a set, on the path of
// one of them below keep, leaving out copies that do not hold seq.
func (t *Tree) lone(seq int, set seqSet, keep *node) (cells int) {
	for y := t.slots[seq].node; y != keep && y.parent != nil; y = y.parent {
		for _, g := range y.hot {
			if g.has(seq) && g.without(set).empty() {
				cells += len(y.tokens)
			}
		}
	}
	return cells
}

// hotUsed is the cells that are filled or promised, without what the promised
// ones will take over from sequences that are being cleared for them.
func (t *Tree) hotUsed() int { return t.cells + t.reserved }

// victim is the idle sequence whose loss costs least, -1 if none may go: per
// cell where cells are short, else by itself.
func (t *Tree) victim(perCell bool, gone, refused seqSet) int {
	best, low := -1, math.Inf(1)
	for i := range t.slots {
		s := &t.slots[i]
		if !s.idle() || refused.has(i) {
			continue
		}
		loss := t.loss(i)
		if perCell {
			set := gone
			set.add(i)
			cells := t.lone(i, set, nil)
			// Cells that others share come free only with the last of them.
			loss -= math.Log2(float64(cells) + 1.0/256)
		}
		if loss < low {
			best, low = i, loss
		}
	}
	return best
}

// loss is log2 of (nanoseconds to get a sequence's state back x likelihood),
// were it cleared without being saved.
func (t *Tree) loss(seq int) float64 {
	x := t.slots[seq].node
	ns := int64(1)
	if !t.elsewhere(seq) {
		p, bytes := t.stored(x)
		ns = max(1, int64(x.end-p)*t.cfg.Cost.Prefill+t.fetch(RAM, bytes))
	}
	return math.Log2(float64(ns)) + t.likelihood(x.hits, x.hint, x.last)
}

// elsewhere reports whether another sequence that stays holds all that this one
// holds.
func (t *Tree) elsewhere(seq int) bool {
	x := t.slots[seq].node
	others := x.standing
	if !t.cfg.Checkpoints {
		for _, g := range x.hot {
			others = others.or(g)
		}
	}
	others = others.and(t.usable())
	others.del(seq)
	if t.cfg.Checkpoints { // one that runs will not stand there for long
		for i := range t.slots {
			if t.slots[i].lease != nil {
				others.del(i)
			}
		}
	}
	return !others.empty()
}

// stored is the last position of a path that can be restored from objects, and
// their bytes.
func (t *Tree) stored(x *node) (pos int, bytes int64) {
	var path []*node
	x.up(func(y *node) { path = append(path, y) })
	var sum int64
	for _, y := range slices.Backward(path) {
		if !y.stored() {
			break
		}
		sum += int64(len(y.tokens)) * t.cfg.KVBytes
		if !t.cfg.Checkpoints || len(y.states) > 0 {
			pos, bytes = y.end, sum+t.cfg.StateBytes
		}
	}
	return pos, bytes
}

// stored reports whether the rows of a node are, or are about to be, in RAM or
// on disk.
func (x *node) stored() bool { return len(x.kv) > 0 }
