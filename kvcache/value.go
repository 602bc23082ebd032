package kvcache

import (
	"container/heap"
	"math"
)

// Phase is what is known of a session, as a hint for how likely its state is
// needed again.
type Phase int8

const (
	// Ended: nobody will come back, as far as is known.
	Ended Phase = iota - 1
	// Unknown: no hint.
	Unknown
	// Idle: alive, nothing announced.
	Idle
	// Waiting: for a tool or another agent; it will come back.
	Waiting
)

// log2 of the factor on the likelihood of reuse.
func (p Phase) factor() float64 { return [...]float64{-2, 0, 1, 3}[p+1] }

// likelihood is log2 of the estimated likelihood of reuse, up to a term that is
// the same for all at any one time: hits and hints, halved every half-life.
func (t *Tree) likelihood(hits int, hint Phase, last Tick) float64 {
	return math.Log2(float64(1+hits)) + hint.factor() + float64(last)/float64(t.cfg.Cost.HalfLife)
}

// key orders objects of a tier: log2 of (nanoseconds saved x likelihood / bytes).
// Ageing moves all keys alike, so they are compared as they were made.
func (t *Tree) key(o *object) float64 {
	x, bytes := o.node, o.bytes
	tokens := o.to - o.from
	if o.state {
		tokens = o.to - t.stateAbove(x)
		for _, p := range x.kv { // these go with the state
			if p != o && p.node == x && p.tier == o.tier && len(x.children) == 0 {
				bytes += p.bytes
			}
		}
	} else if t.cfg.Checkpoints && x.below[RAM]+x.below[Disk] == 1 {
		return math.Inf(-1) // rows without a state that uses them
	}
	saved := int64(tokens)*t.cfg.Cost.Prefill - t.fetch(o.tier, o.bytes)
	return density(saved, bytes) + t.likelihood(x.hits, x.hint, x.last)
}

func density(saved, bytes int64) float64 {
	return math.Log2(float64(max(saved, 1))) - math.Log2(float64(max(bytes, 1)))
}

// stateAbove is the nearest position above a node from which a recurrent model
// could start instead.
func (t *Tree) stateAbove(x *node) int {
	for y := x.parent; y != nil; y = y.parent {
		if len(y.states) > 0 {
			return y.end
		}
	}
	return 0
}

// fetch is the price in ns of bringing bytes of a tier into a sequence.
func (t *Tree) fetch(tier Tier, bytes int64) int64 {
	price := [tiers]int64{Disk: t.cfg.Cost.Disk, RAM: t.cfg.Cost.RAM, Hot: t.cfg.Cost.Hot}[tier]
	return int64(float64(bytes) / (1 << 20) * float64(price))
}

// touch records a use of what is on a path and of the state it was used for.
// Where rows are worth something by themselves, every span of the path was used.
func (t *Tree) touch(x *node) {
	x.hits++
	x.last = t.now
	t.rekey(x)
	x.parent.up(func(y *node) {
		y.last = t.now
		if !t.cfg.Checkpoints {
			y.hits++
			t.rekey(y)
		}
	})
}

// rekey puts the objects that end at a node where they now belong.
func (t *Tree) rekey(x *node) {
	for _, list := range [2][]*object{x.states, x.kv} {
		for _, o := range list {
			if o.node == x && o.index >= 0 {
				o.key = t.key(o)
				heap.Fix(&t.heaps[o.tier], o.index)
			}
		}
	}
}

// lowest takes the object with the lowest key below limit out of its heap, nil
// if there is none that may go. What may not go now is set aside until wake.
func (t *Tree) lowest(tier Tier, limit float64) *object {
	h := &t.heaps[tier]
	for h.Len() > 0 {
		o := (*h)[0]
		if fresh := t.key(o); fresh != o.key {
			o.key = fresh
			heap.Fix(h, 0)
			continue
		}
		if o.key >= limit {
			return nil
		}
		heap.Pop(h)
		if t.droppable(o) {
			return o
		}
	}
	return nil
}
