package kvcache

import (
	"fmt"
	"slices"
)

// Check proves the invariants of the package comment, in time linear in the
// tree. Tests call it after every operation; an owner when it is idle.
func (t *Tree) Check() error {
	all := make([]*node, 0, t.nodes+1) // parents before children
	t.root.walk(func(x *node) {
		x.ordinal = len(all)
		all = append(all, x)
	})
	for _, f := range []func([]*node) error{t.checkNodes, t.checkSlots, t.checkListed, t.checkObjects, t.checkLedger} {
		if err := f(all); err != nil {
			return fmt.Errorf("prefix tree: %w", err)
		}
	}
	return nil
}

// checkNodes: the shape of the tree, and that nothing in it is superfluous.
func (t *Tree) checkNodes(all []*node) error {
	pinned, children := make([]int, len(all)), make([]int, len(all)) // by ordinal
	for _, x := range slices.Backward(all) {
		if x == t.root {
			break
		}
		i, up := x.ordinal, x.parent.ordinal
		pinned[i] += x.pins
		pinned[up] += pinned[i]
		children[up]++
		switch {
		case len(x.tokens) == 0 || x.parent.children[x.tokens[0]] != x:
			return fmt.Errorf("node at %d hangs under a wrong token or parent", x.end)
		case x.start() != x.parent.end:
			return fmt.Errorf("node [%d,%d) hangs at %d", x.start(), x.end, x.parent.end)
		case pinned[i] != x.pinned:
			return fmt.Errorf("node at %d counts %d pins of %d", x.end, x.pinned, pinned[i])
		case len(x.children) == 0 && !x.marked():
			return fmt.Errorf("node at %d holds, covers and leads to nothing", x.end)
		case len(x.children) != children[i]:
			return fmt.Errorf("node at %d has %d children, %d of them its own", x.end, len(x.children), children[i])
		case x.leases < 0 || x.sessions < 0 || x.pins < 0:
			return fmt.Errorf("node at %d: %d leases, %d sessions, %d pins", x.end, x.leases, x.sessions, x.pins)
		}
	}
	if len(all) != t.nodes+1 {
		return fmt.Errorf("%d nodes, counted as %d", len(all)-1, t.nodes)
	}
	return nil
}

// checkSlots: each sequence is on its path, once each, and nowhere else; leases
// and slots point at each other.
func (t *Tree) checkSlots(all []*node) error {
	on, stand := make([]seqSet, len(all)), make([]seqSet, len(all)) // by ordinal
	for i := range t.slots {
		s := &t.slots[i]
		if s.node != nil {
			stand[s.node.ordinal].add(i)
			s.node.up(func(y *node) { on[y.ordinal].add(i) })
		}
		if s.holds < 0 || s.dirty && !s.busy || s.node == t.root {
			return fmt.Errorf("slot %d: %d holds, dirty %t, busy %t", i, s.holds, s.dirty, s.busy)
		}
		if l := s.lease; l != nil {
			if l.slot != i || (t.leases[l.id] == l) == l.cancelled || l.credit < 0 || l.reserve < l.credit || (l.job != nil) != s.busy {
				return fmt.Errorf("lease %d in slot %d: slot %d, credit %d of %d, job %t, busy %t", l.id, i, l.slot, l.credit, l.reserve, l.job != nil, s.busy)
			}
		}
	}
	for id, l := range t.leases {
		if l.id != id || t.slots[l.slot].lease != l {
			return fmt.Errorf("lease %d is not in its slot %d", id, l.slot)
		}
	}
	cells := 0
	for _, x := range all {
		var in seqSet
		n := 0
		for _, g := range x.hot {
			if g.empty() {
				return fmt.Errorf("node at %d has a copy of nobody", x.end)
			}
			n += g.count()
			in = in.or(g)
			cells += len(x.tokens)
		}
		if in != on[x.ordinal] || n != in.count() || x.standing != stand[x.ordinal] {
			return fmt.Errorf("node at %d: wrong sequences in its copies, or standing there", x.end)
		}
	}
	if cells != t.cells {
		return fmt.Errorf("%d cells, counted as %d", cells, t.cells)
	}
	return nil
}

// checkListed: nodes list and count objects exactly where these belong.
func (t *Tree) checkListed(all []*node) error {
	below := make([][tiers]int, len(all)) // by ordinal
	listed := 0
	for _, x := range slices.Backward(all) {
		sum := below[x.ordinal]
		for _, o := range x.states {
			if t.objects[o.id] != o || o.node != x || !o.state {
				return fmt.Errorf("object %d is listed as a state at %d", o.id, x.end)
			}
			sum[o.tier]++
			listed++
		}
		for _, o := range x.kv {
			if t.objects[o.id] != o || !o.rows() || o.from > x.start() || o.to < x.end {
				return fmt.Errorf("object %d is listed with rows [%d,%d)", o.id, x.start(), x.end)
			}
			if o.node == x && !o.state {
				sum[o.tier]++
				listed++
			}
		}
		if x == t.root {
			break
		}
		if sum != x.below {
			return fmt.Errorf("node at %d counts %v objects of %v", x.end, x.below, sum)
		}
		for tier, n := range sum {
			below[x.parent.ordinal][tier] += n
		}
	}
	for _, o := range t.objects {
		if o.node != nil {
			listed--
		}
	}
	if listed != 0 {
		return fmt.Errorf("%d objects too many in the tree", listed)
	}
	return nil
}

// checkObjects: objects rest on copies down to the root.
func (t *Tree) checkObjects([]*node) error {
	for _, o := range t.objects {
		if o.node == nil {
			continue
		}
		if err := o.check(); err != nil {
			return fmt.Errorf("object %d: %w", o.id, err)
		}
	}
	return nil
}

func (o *object) check() (err error) {
	boundary := o.from == o.to
	o.node.up(func(y *node) {
		boundary = boundary || y.start() == o.from
		if y.start() >= o.from && o.rows() && !slices.Contains(y.kv, o) {
			err = fmt.Errorf("not listed at its rows [%d,%d)", y.start(), y.end)
		}
		if len(y.hot)+len(y.kv) == 0 && !o.doomed {
			err = fmt.Errorf("rests on [%d,%d), of which no copy is left", y.start(), y.end)
		}
	})
	switch {
	case err != nil:
	case o.to != o.node.end || !boundary:
		err = fmt.Errorf("rows [%d,%d) at a node that ends at %d", o.from, o.to, o.node.end)
	case o.holds < 0 || o.phase == leaving || o.passed > o.gain || o.gain > 0 && (o.holds == 0 || o.tier != Disk):
		err = fmt.Errorf("holds %d, phase %d, passed %d", o.holds, o.phase, o.passed)
	}
	return err
}

// checkLedger: sums and budgets.
func (t *Tree) checkLedger([]*node) error {
	var used, excess [tiers]int64
	for id, o := range t.objects {
		if o.id != id || o.passed < 0 || o.passed > o.bytes {
			return fmt.Errorf("object %d passes on %d of %d bytes", id, o.passed, o.bytes)
		}
		used[o.tier] += o.bytes - o.passed
		excess[o.tier] += max(0, o.bytes-o.estimate)
		if o.stuck {
			excess[o.tier] += o.bytes
		}
	}
	for _, tier := range []Tier{RAM, Disk} {
		if used[tier] != t.used[tier] {
			return fmt.Errorf("%s holds %d bytes, counted as %d", tier, used[tier], t.used[tier])
		}
		if used[tier] > t.budget[tier]+excess[tier] {
			return fmt.Errorf("%s holds %d bytes of %d, and only %d are excused", tier, used[tier], t.budget[tier], excess[tier])
		}
	}
	reserved, over := 0, 0
	for i := range t.slots {
		over += t.slots[i].over
		if l := t.slots[i].lease; l != nil {
			reserved += l.reserve - l.credit
		}
	}
	if reserved != t.reserved {
		return fmt.Errorf("%d cells are promised, counted as %d", reserved, t.reserved)
	}
	if t.hotUsed() > t.cfg.Cells+over {
		return fmt.Errorf("%d cells filled and promised of %d, and only %d are excused", t.hotUsed(), t.cfg.Cells, over)
	}
	return t.checkHeaps()
}

func (t *Tree) checkHeaps() error {
	for tier, h := range t.heaps {
		for i, o := range h {
			if o.index != i || o.tier != Tier(tier) || o.phase != live || i > 0 && h.Less(i, (i-1)/2) {
				return fmt.Errorf("object %d is out of place in the heap of %s", o.id, Tier(tier))
			}
		}
	}
	for _, o := range t.objects {
		if o.phase == live && o.index < 0 && t.droppable(o) {
			return fmt.Errorf("object %d may go and is not in the heap", o.id)
		}
	}
	return nil
}
