package kvcache

import (
	"cmp"
	"container/heap"
	"slices"
)

// ObjectID names stored bytes, in RAM or on disk. The tree makes it.
type ObjectID uint64

type phase uint8

const (
	making  phase = iota // room is reserved, the bytes are on their way
	live                 // complete
	leaving              // no longer found; the bytes are there until dropped
)

// object is stored bytes: rows of positions [from, to), or the recurrent state
// at to, or (opaque) both. It is attached to the node where it ends.
type object struct {
	id       ObjectID
	tier     Tier
	phase    phase
	from, to int
	state    bool
	bytes    int64
	estimate int64 // bytes before they were known
	passed   int64 // of a leaving object: room promised to what its job makes next
	node     *node
	level    int   // how it is coded on disk; see Config.Smaller
	gain     int64 // what a Shrink under way is thought to give back
	failed   int   // Shrinks, one after the other
	holds    int   // actions that read it
	doomed   bool  // to be dropped as soon as nothing writes or reads it
	stuck    bool  // could not be dropped, not yet
	key      float64
	index    int // in the heap, -1 outside
}

func (o *object) rows() bool { return o.from < o.to }

// attach enters an object in the ledger and the tree.
func (t *Tree) attach(x *node, tier Tier, from int, state bool, bytes int64, p phase) *object {
	t.lastObject++
	o := &object{id: t.lastObject, tier: tier, phase: p, from: from, to: x.end, state: state,
		bytes: bytes, estimate: bytes, node: x, index: -1}
	t.objects[o.id] = o
	t.used[tier] += bytes
	if o.state {
		x.states = append(x.states, o)
	}
	if o.rows() {
		o.covered(func(y *node) { y.kv = append(y.kv, o) })
	}
	x.up(func(y *node) { y.below[tier]++ })
	if p == live {
		t.settle(o)
	}
	return o
}

// covered calls f for the nodes whose rows an object holds.
func (o *object) covered(f func(*node)) {
	for x := o.node; x.parent != nil && x.start() >= o.from; x = x.parent {
		f(x)
	}
}

// settle makes an object whose bytes are complete a candidate for eviction.
func (t *Tree) settle(o *object) {
	o.phase = live
	o.key = t.key(o)
	heap.Push(&t.heaps[o.tier], o)
	if o.tier == RAM && t.budget[Disk] > 0 {
		t.unwritten = append(t.unwritten, o.id)
	}
	t.wake(o.node)
}

// detach takes an object out of the tree; its bytes stay in the ledger.
func (t *Tree) detach(o *object) {
	is := func(p *object) bool { return p == o }
	x := o.node
	if o.state {
		x.states = slices.DeleteFunc(x.states, is)
	}
	if o.rows() {
		o.covered(func(y *node) { y.kv = slices.DeleteFunc(y.kv, is) })
	}
	x.up(func(y *node) { y.below[o.tier]-- })
	if o.index >= 0 {
		heap.Remove(&t.heaps[o.tier], o.index)
	}
	o.node, o.phase = nil, leaving
	t.wake(x)
}

// forget removes an object whose bytes do not exist any more.
func (t *Tree) forget(o *object) {
	if o.node != nil {
		x := o.node
		t.detach(o)
		t.prune(x)
	}
	t.used[o.tier] -= o.bytes - o.passed
	delete(t.objects, o.id)
}

// wake makes the objects along a path candidates again, since what stood in
// their way may be gone, and values those anew that may have become useless.
func (t *Tree) wake(x *node) {
	x.up(func(y *node) {
		if t.cfg.Checkpoints {
			t.rekey(y)
		}
		for _, list := range [2][]*object{y.kv, y.states} {
			for _, o := range list {
				if o.phase == live && o.index < 0 && o.holds == 0 {
					o.key = t.key(o)
					heap.Push(&t.heaps[o.tier], o)
				}
			}
		}
	})
}

func (t *Tree) hold(o *object) { o.holds++ }

func (t *Tree) unhold(o *object) {
	if o.holds--; o.holds > 0 {
		return
	}
	if o.doomed {
		t.condemn(o)
	} else if o.node != nil {
		t.wake(o.node)
	}
}

// condemn drops an object that must not be used again, as soon as no action
// reads or writes it.
func (t *Tree) condemn(o *object) {
	if o.phase == leaving {
		return
	}
	o.doomed = true
	if o.phase == making || o.holds > 0 {
		return
	}
	if o.node != nil {
		x := o.node
		t.detach(o)
		defer t.prune(x)
	}
	t.submit(&job{steps: []*step{{Action: Action{Kind: Drop, Objects: []Target{t.target(o)}}}}})
}

// prune condemns what lost its ground: objects below a span of which no copy is
// left. It then tidies the tree.
func (t *Tree) prune(x *node) {
	var top *node // the highest span without a copy
	x.up(func(y *node) {
		if len(y.hot) == 0 && len(y.kv) == 0 {
			top = y
		}
	})
	if top != nil && top.below[RAM]+top.below[Disk] > 0 {
		var lost []*object
		top.walk(func(y *node) {
			for _, o := range y.states {
				lost = append(lost, o)
			}
			for _, o := range y.kv {
				if o.node == y && !o.state {
					lost = append(lost, o)
				}
			}
		})
		slices.SortFunc(lost, func(a, b *object) int { return cmp.Compare(a.id, b.id) })
		for _, o := range lost {
			if !o.doomed {
				t.counts.Lost++
				t.condemn(o)
			}
		}
	}
	t.tidy(x)
}

func (x *node) walk(f func(*node)) {
	f(x)
	for _, c := range x.children {
		c.walk(f)
	}
}

// droppable reports whether nothing else rests on an object.
func (t *Tree) droppable(o *object) bool {
	if o.holds > 0 || o.doomed {
		return false
	}
	free := true
	if o.state {
		free = o.node.pins == 0 || slices.ContainsFunc(o.node.states, func(p *object) bool { return p != o && p.phase == live })
	}
	if o.rows() {
		o.covered(func(x *node) { free = free && !o.carries(x) })
	}
	return free
}

// carries reports whether the rows of o over a node are the only stored ones and
// something rests on them.
func (o *object) carries(x *node) bool {
	other, otherDisk := false, false
	for _, p := range x.kv {
		if p != o && p.phase == live && !p.doomed {
			other = true
			otherDisk = otherDisk || p.tier == Disk
		}
	}
	resting := x.below[RAM] + x.below[Disk] - 1 // without o itself
	if !other && resting+x.pinned > 0 {
		return true
	}
	// What lies on disk must be found there alone after a restart.
	return o.tier == Disk && !otherDisk && x.below[Disk] > 1
}

// objectHeap orders by key, then age.
type objectHeap []*object

func (h objectHeap) Len() int { return len(h) }
func (h objectHeap) Less(i, j int) bool {
	return h[i].key < h[j].key || h[i].key == h[j].key && h[i].id < h[j].id
}
func (h objectHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *objectHeap) Push(x any) {
	o := x.(*object)
	o.index = len(*h)
	*h = append(*h, o)
}
func (h *objectHeap) Pop() any {
	old := *h
	o := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	o.index = -1
	return o
}
