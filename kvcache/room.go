package kvcache

import (
	"math"
	"slices"
)

// makeCells finds a slot, if none is given, and clears idle sequences until need
// cells are free. It reports how many cells those hold now. sync plans nothing that
// waits for a disk.
func (t *Tree) makeCells(slot, need int, j *job, sync bool) (got, freed int, ok bool) {
	short := func() bool { return t.hotUsed()+need-freed > t.cfg.Cells }
	if slot >= 0 && !short() {
		return slot, 0, true
	}
	if t.hotUsed()+need-t.clearable() > t.cfg.Cells {
		return -1, 0, false
	}
	var refused seqSet
	for slot < 0 || short() {
		v := t.victim(slot >= 0, j.victims, refused)
		if v < 0 {
			return -1, freed, false
		}
		cells, ok := t.evict(v, j, sync)
		if !ok {
			refused.add(v)
			continue
		}
		freed += cells
		if slot < 0 {
			slot = v
		}
	}
	return slot, freed, true
}

// clearable is the cells that are free when all idle sequences are cleared.
func (t *Tree) clearable() (cells int) {
	var idle seqSet
	for i := range t.slots {
		if t.slots[i].idle() {
			idle.add(i)
		}
	}
	seen := map[*node]bool{}
	for i := range t.slots {
		if !idle.has(i) {
			continue
		}
		for y := t.slots[i].node; y.parent != nil && !seen[y]; y = y.parent {
			seen[y] = true
			for _, g := range y.hot {
				if g.without(idle).empty() {
					cells += len(y.tokens)
				}
			}
		}
	}
	return cells
}

// evict plans to clear an idle sequence, saved first if that is worth it. It
// refuses to lose the last copy of a pinned prefix.
func (t *Tree) evict(seq int, j *job, sync bool) (freed int, ok bool) {
	s := &t.slots[seq]
	s.busy = true
	pinned := t.pinnedBy(seq, nil)
	if !t.elsewhere(seq) || pinned {
		if !t.save(seq, j, pinned, sync) {
			if pinned {
				s.busy = false
				return 0, false
			}
			t.counts.Lost++
		}
	}
	set := j.victims
	set.add(seq)
	freed = t.lone(seq, set, nil)
	j.victims = set
	j.add(&step{Action: Action{Kind: Clear, Seq: seq}})
	return freed, true
}

// span is what becomes an object: rows from a position to the end of a node,
// the state there, or both.
type span struct {
	node  *node
	from  int
	state bool
}

func (t *Tree) bytes(s span) int64 {
	b := int64(s.node.end-s.from) * t.cfg.KVBytes
	if s.state {
		b += t.cfg.StateBytes
	}
	return b
}

// unsaved lists what of a path is not stored yet, from the root down.
func (t *Tree) unsaved(x *node) (spans []span) {
	if t.cfg.Opaque {
		if p, _ := t.stored(x); p < x.end {
			spans = append(spans, span{x, 0, t.cfg.Checkpoints})
		}
		return spans
	}
	if t.cfg.Checkpoints && len(x.states) == 0 {
		spans = append(spans, span{x, x.end, true})
	}
	x.up(func(y *node) {
		if !y.stored() {
			spans = append(spans, span{y, y.start(), false})
		}
	})
	slices.Reverse(spans)
	return spans
}

// save plans to copy what of a sequence is not stored yet into RAM. It reports
// false if there is no room for it that is worth less.
func (t *Tree) save(seq int, j *job, must, sync bool) bool {
	x := t.slots[seq].node
	spans := t.unsaved(x)
	if len(spans) == 0 {
		return true
	}
	var bytes int64
	for _, s := range spans {
		bytes += t.bytes(s)
	}
	p, _ := t.stored(x)
	key := density(int64(x.end-p)*t.cfg.Cost.Prefill-t.fetch(RAM, bytes), bytes) + t.likelihood(x.hits, x.hint, x.last)
	if must {
		key = math.Inf(1)
	}
	defer t.keepPath(x)()
	if !t.room(RAM, bytes, key, j, sync) {
		return false
	}
	a := Action{Kind: Save, Seq: seq}
	for _, s := range spans {
		a.Objects = append(a.Objects, t.target(t.attach(s.node, RAM, s.from, s.state, t.bytes(s), making)))
	}
	j.add(&step{Action: a})
	return true
}

// keepPath keeps a path as it is, nodes and stored rows, while room is made for
// something that will rest on it.
func (t *Tree) keepPath(x *node) (letGo func()) {
	var held []*object
	var nodes []*node
	x.up(func(y *node) {
		y.leases++
		nodes = append(nodes, y)
		for _, o := range y.kv {
			t.hold(o)
			held = append(held, o)
		}
	})
	return func() {
		for _, o := range held {
			t.unhold(o)
		}
		for _, y := range nodes {
			y.leases--
		}
		for _, y := range nodes {
			t.tidy(y)
		}
	}
}

// room makes bytes of a tier available to the next object of a job, by sending
// away what has a lower key. It reports false if that is not enough. sync plans
// no action that takes long.
func (t *Tree) room(tier Tier, bytes int64, limit float64, j *job, sync bool) bool {
	if bytes > t.budget[tier] {
		return false
	}
	shrinks := tier == Disk && len(t.cfg.Smaller) > 0
	for t.budget[tier]-t.used[tier]+j.spare(tier) < bytes {
		if shrinks = shrinks && t.shrink(j); shrinks {
			continue
		}
		o := t.lowest(tier, limit)
		if o == nil {
			return false
		}
		t.demote(o, j, sync)
	}
	rest := bytes - t.budget[tier] + t.used[tier] // what is over the budget goes first
	for _, o := range j.leaving {
		if k := min(rest, o.frees()-o.passed); o.tier == tier && k > 0 {
			o.passed += k
			t.used[tier] -= k
			rest -= k
		}
	}
	return true
}

// spare is what the drops and shrinks of a job free and nothing was promised of.
func (j *job) spare(tier Tier) (bytes int64) {
	for _, o := range j.leaving {
		if o.tier == tier {
			bytes += o.frees() - o.passed
		}
	}
	return bytes
}

// frees is what an object that is leaving, or shrinking, gives back.
func (o *object) frees() int64 {
	if o.gain > 0 {
		return o.gain
	}
	return o.bytes
}

// demote sends an object one tier down, or away.
func (t *Tree) demote(o *object, j *job, sync bool) {
	x := o.node
	kept := o.tier == RAM && t.onDisk(o) || o.tier == Disk && t.inRAM(o)
	if o.tier == RAM && !kept && !sync && t.budget[Disk] > 0 {
		kept = t.write(o, j)
	}
	if !kept {
		t.counts.Lost++
	}
	t.detach(o)
	j.leaving = append(j.leaving, o)
	j.add(&step{Action: Action{Kind: Drop, Objects: []Target{t.target(o)}}})
	t.prune(x)
}

func (t *Tree) onDisk(o *object) bool { return o.twin(Disk, live) }
func (t *Tree) inRAM(o *object) bool  { return o.twin(RAM, live) }

// onWay reports whether all that an object holds is on disk or being written.
func (t *Tree) onWay(o *object) bool { return o.twin(Disk, making) }

// twin reports whether all that an object holds is in a tier too, at least as far
// as least.
func (o *object) twin(tier Tier, least phase) bool {
	in := func(p *object) bool { return p != o && p.tier == tier && p.phase >= least && !p.doomed }
	ok := !o.state || slices.ContainsFunc(o.node.states, in)
	if o.rows() {
		o.covered(func(x *node) { ok = ok && slices.ContainsFunc(x.kv, in) })
	}
	return ok
}

// write plans to copy a RAM object to disk, after the rows it rests on, so that
// what is found there after a crash can be used. It reports false if these are
// not stored, or if there is no room that is worth less.
func (t *Tree) write(o *object, j *job) bool {
	list, ok := t.unwrittenPath(o)
	if !ok {
		return false
	}
	var bytes int64
	for _, p := range list {
		bytes += p.bytes
		t.hold(p) // until it is written
	}
	defer t.keepPath(o.node)()
	if !t.room(Disk, bytes, t.key(o), j, false) {
		for _, p := range list {
			t.unhold(p)
		}
		return false
	}
	for _, p := range list {
		d := t.attach(p.node, Disk, p.from, p.state, p.bytes, making)
		d.level = firstLevel(len(t.cfg.Smaller), p.node.rank, p.node.pinned > 0)
		j.add(&step{Action: Action{Kind: Write, Source: p.id, Class: t.cfg.class(d.level), Objects: []Target{t.target(d)}}})
	}
	return true
}

// unwrittenPath lists an object and what it rests on as far as it is not on
// disk, from the root down.
func (t *Tree) unwrittenPath(o *object) (list []*object, ok bool) {
	ok = true
	if !t.cfg.Opaque {
		o.node.up(func(x *node) {
			if slices.ContainsFunc(x.kv, func(p *object) bool { return p.tier == Disk && !p.doomed }) {
				return
			}
			if p := rowsOf(x); p == nil {
				ok = false
			} else if !slices.Contains(list, p) {
				list = append(list, p)
			}
		})
	}
	slices.Reverse(list)
	if !slices.Contains(list, o) {
		list = append(list, o)
	}
	return list, ok
}
