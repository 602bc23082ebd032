package kvcache

import (
	"container/heap"
	"fmt"
	"slices"
)

// Coding is one way to keep objects on disk that takes less room than the one before,
// and loses more of what was computed.
type Coding struct {
	// Class is the owner's name for it, not 0: that is how objects are written otherwise.
	Class uint8
	// Part of the bytes of an object as it is otherwise written that is left, 0 to 1.
	Part float64
}

// Rank says who asks, as far as the quality of what is kept for them goes.
type Rank uint8

const (
	Unranked Rank = iota // as Ordinary
	Background
	Ordinary
	Interactive // a person waits
)

// level is the quality in which an object is to be kept when room on disk is short:
// how far into Config.Smaller it may go, 0 for no loss beyond that of writing. What is
// pinned loses nothing. Others lose with time: at first as little as there is, and as
// much as there is when nobody came for four half-lives, or nobody waits for it.
func level(levels int, rank Rank, pinned bool, idle, halfLife Tick) int {
	patience := halfLife / 4
	if rank == Interactive {
		patience = halfLife
	}
	switch {
	case pinned:
		return 0
	case rank == Background || idle >= 4*halfLife:
		return levels
	case idle >= patience:
		return min(1, levels)
	}
	return 0
}

// firstLevel is the quality in which an object is written: what nobody waits for loses
// a little at once.
func firstLevel(levels int, rank Rank, pinned bool) int {
	if rank == Background && !pinned {
		return min(1, levels)
	}
	return 0
}

// raise notes that somebody of a rank is served by a path.
func (x *node) raise(r Rank) {
	x.up(func(y *node) { y.rank = max(y.rank, r) })
}

// class of a level as the owner names it.
func (c Config) class(level int) uint8 {
	if level == 0 {
		return 0
	}
	return c.Smaller[level-1].Class
}

// levelOf a class, the nearest that loses no less.
func (c Config) levelOf(class uint8) int {
	for i, s := range c.Smaller {
		if class <= s.Class {
			if class == 0 || i == 0 && class < s.Class {
				return 0
			}
			return i + 1
		}
	}
	return len(c.Smaller)
}

func (c Config) validateSmaller() error {
	last := Coding{Part: 1}
	for _, s := range c.Smaller {
		if s.Class <= last.Class || !(s.Part > 0 && s.Part <= last.Part) {
			return fmt.Errorf("smaller codings %v: classes must ascend from 1, parts descend from 1", c.Smaller)
		}
		last = s
	}
	return nil
}

// part of an object's bytes that is thought to be left when it goes to a level, as seen
// of objects of its kind, or else as the Config says.
func (t *Tree) part(o *object, to int) float64 {
	if seen := t.remains[recoding{o.state, o.level, to}]; seen > 0 {
		return seen
	}
	part := t.cfg.Smaller[to-1].Part
	if o.level > 0 {
		part /= t.cfg.Smaller[o.level-1].Part
	}
	return min(1, part)
}

// learn takes what was left. The next is thought to get no smaller than the worst of
// late: what is promised and does not come costs a write.
func (t *Tree) learn(o *object, to int, left float64) {
	const fade = 0.9
	key := recoding{o.state, o.level, to}
	t.remains[key] = max(left, fade*t.remains[key]+(1-fade)*left)
}

// recoding is a kind of Shrink: of rows or of states, between levels.
type recoding struct {
	state    bool
	from, to int
}

// mostTries to code an object anew: one that is too large for it fails each time, and
// with it what was to be written in its room.
const mostTries = 2

// leastGain is the part of an object that must be saved to be worth its coding.
const leastGain = 1. / 16

// shrink plans to code the object on disk anew that is worth least and may lose more, so
// that nothing need be dropped. It reports false if there is none.
func (t *Tree) shrink(j *job) bool {
	var worst *object
	var key float64
	for _, o := range t.objects {
		if o.tier != Disk || o.phase != live || o.holds > 0 || o.doomed || o.stuck || t.gain(o, t.level(o)) == 0 {
			continue
		}
		if k := t.key(o); worst == nil || k < key || k == key && o.id < worst.id {
			worst, key = o, k
		}
	}
	if worst == nil {
		return false
	}
	to := t.level(worst)
	worst.gain = t.gain(worst, to)
	t.hold(worst)
	j.leaving = append(j.leaving, worst)
	j.add(&step{Action: Action{Kind: Shrink, Class: t.cfg.class(to), Objects: []Target{t.target(worst)}}})
	return true
}

// level of an object when room is short.
func (t *Tree) level(o *object) int {
	x := o.node
	return level(len(t.cfg.Smaller), x.rank, x.pinned > 0, t.now-x.last, t.cfg.Cost.HalfLife)
}

// gain is what an object would give back at a level; 0 where that is not worth it.
func (t *Tree) gain(o *object, to int) int64 {
	if to <= o.level || o.failed >= mostTries {
		return 0
	}
	gain := int64(float64(o.bytes) * (1 - t.part(o, to)))
	if float64(gain) < leastGain*float64(o.bytes) {
		return 0
	}
	return gain
}

// shrunk ends a Shrink. Where it gave back less than was thought, what was to be written
// in its room is not.
func (t *Tree) shrunk(j *job, s *step, r Result) {
	o := t.objects[s.Objects[0].ID]
	t.used[o.tier] += o.passed
	promised, freed := o.gain, int64(0)
	o.failed++
	o.passed, o.gain = 0, 0
	j.leaving = slices.DeleteFunc(j.leaving, func(p *object) bool { return p == o }) // others may shrink it next
	switch {
	case r.Err == nil:
		before := o.bytes
		if len(r.Bytes) > 0 {
			o.bytes = r.Bytes[0]
		}
		freed, o.failed = before-o.bytes, 0
		t.used[o.tier] -= freed
		to := t.cfg.levelOf(s.Class)
		t.learn(o, to, float64(o.bytes)/float64(max(before, 1)))
		o.level = max(to, t.cfg.levelOf(r.Class))
		if freed > 0 {
			t.counts.Shrunk++
		}
	case r.Bad == o.id:
		o.doomed = true
	}
	if o.index >= 0 {
		o.key = t.key(o)
		heap.Fix(&t.heaps[o.tier], o.index)
	}
	t.unhold(o)
	if freed < promised {
		t.breakPromise(j)
	}
}

// breakPromise takes back the room on disk that a job was promised, and what it was to
// write there.
func (t *Tree) breakPromise(j *job) {
	for _, o := range j.leaving {
		if t.objects[o.id] == o && o.tier == Disk {
			t.used[Disk] += o.passed
			o.passed = 0
		}
	}
	rest := j.steps[:1:1]
	for _, s := range j.steps[1:] {
		if s.Kind == Write {
			t.counts.Skipped++
			t.undo(j, s)
			continue
		}
		rest = append(rest, s)
	}
	j.steps = rest
}
