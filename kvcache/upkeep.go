package kvcache

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Checkpoint keeps the recurrent state of a lease's sequence where it stands
// now, if that is worth its bytes; it says whether it is, or was, kept. The
// actions are to be carried out before the sequence is decoded again.
func (t *Tree) Checkpoint(now Tick, id LeaseID) (kept bool, err error) {
	l := t.leases[id]
	if l == nil || l.job != nil || l.err != nil {
		return false, fmt.Errorf("checkpoint of lease %d, which holds no sequence: %w", id, ErrUnknown)
	}
	t.tick(now)
	x := t.slots[l.slot].node
	if !t.cfg.Checkpoints || x == nil {
		return false, nil
	}
	if len(x.states) > 0 {
		return true, nil
	}
	x.last = t.now
	x.raise(l.request.Rank)
	saved := int64(x.end-t.stateAbove(x))*t.cfg.Cost.Prefill - t.fetch(RAM, t.cfg.StateBytes)
	key := density(saved, t.cfg.StateBytes) + t.likelihood(x.hits, x.hint, x.last)
	if x.pins > 0 {
		key = math.Inf(1)
	}
	j := &job{}
	defer t.submit(j)
	if !t.room(RAM, t.cfg.StateBytes, key, j, true) {
		t.counts.Declined++
		return false, nil
	}
	x.leases++ // until saved
	o := t.attach(x, RAM, x.end, true, t.cfg.StateBytes, making)
	j.add(&step{Action: Action{Kind: Save, Seq: l.slot, Objects: []Target{t.target(o)}}, checkpoint: x})
	return true, nil
}

// Park saves an idle sequence and clears it, so that the slot and its cells are
// free for others. Sequences that are not idle stay. It fails with ErrFull, and
// leaves the sequence where it is, if there is no room that is worth less.
func (t *Tree) Park(now Tick, seq int) error {
	t.tick(now)
	if seq < 0 || seq >= len(t.slots) || !t.slots[seq].idle() {
		return nil
	}
	t.slots[seq].busy = true
	j := &job{}
	defer t.submit(j)
	if !t.elsewhere(seq) && !t.save(seq, j, t.pinnedBy(seq, nil), false) {
		t.slots[seq].busy = false
		return fmt.Errorf("park sequence %d: %w", seq, ErrFull)
	}
	j.victims.add(seq)
	j.add(&step{Action: Action{Kind: Clear, Seq: seq}})
	return nil
}

// Backup copies what of an idle sequence is not stored yet into RAM, from where
// Balance writes it to disk, and leaves the sequence as it is. It reports whether
// there was something to copy and room for it.
func (t *Tree) Backup(now Tick, seq int) bool {
	t.tick(now)
	if seq < 0 || seq >= len(t.slots) || !t.slots[seq].idle() || len(t.unsaved(t.slots[seq].node)) == 0 {
		return false
	}
	t.slots[seq].holds++
	j := &job{held: seq + 1}
	t.save(seq, j, false, false)
	saves := len(j.steps) > 0
	t.submit(j)
	return saves
}

// Idle are the sequences that hold something and that nobody runs in, the
// longest unused first.
func (t *Tree) Idle() (seqs []int) {
	for i := range t.slots {
		if t.slots[i].idle() {
			seqs = append(seqs, i)
		}
	}
	slices.SortStableFunc(seqs, func(a, b int) int { return cmp.Compare(t.slots[a].node.last, t.slots[b].node.last) })
	return seqs
}

// Own is the idle sequence that a session stands on, -1 if there is none.
func (t *Tree) Own(id SessionID) int { return t.own(id) }

// SetCost tells what was measured. Decisions that were made stay, and so does
// the half-life, on which the order of values rests.
func (t *Tree) SetCost(c Cost) error {
	cfg := t.cfg
	c.HalfLife = cfg.Cost.HalfLife
	cfg.Cost = c
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("prefix tree: %w", err)
	}
	t.cfg = cfg
	return nil
}

// Balance does what can wait: it writes RAM objects to disk ahead of need, so
// that they survive a crash and can be dropped at once, and tries failed drops
// again. The owner calls it when little else happens.
func (t *Tree) Balance(now Tick) {
	t.tick(now)
	stuck := t.stuck
	t.stuck = nil
	for _, id := range stuck {
		o := t.objects[id]
		t.submit(&job{steps: []*step{{Action: Action{Kind: Drop, Objects: []Target{t.target(o)}}}}})
	}
	for range len(t.unwritten) {
		if t.writing >= t.cfg.Writes {
			return
		}
		id := t.unwritten[0]
		t.unwritten = t.unwritten[1:]
		o := t.objects[id]
		wanted, ready := t.toWrite(o)
		if !wanted {
			continue
		}
		if !ready || t.onWay(o) { // it is being written, which may fail
			t.unwritten = append(t.unwritten, id)
			continue
		}
		j := &job{balance: true}
		t.write(o, j)
		if len(j.steps) > 0 {
			t.writing++
			t.submit(j)
		}
	}
}

// toWrite reports whether an object in RAM has yet to be written to disk, and whether
// it can be: a state waits until its rows are saved, and for ever where their sequence
// went another way.
func (t *Tree) toWrite(o *object) (wanted, ready bool) {
	if o == nil || o.phase != live || o.doomed || t.onDisk(o) {
		return false, false
	}
	_, ready = t.unwrittenPath(o)
	return true, ready
}

// Size is how many bytes the copy of a prefix takes in RAM, with its state.
func (t *Tree) Size(tokens int) int64 { return int64(tokens)*t.cfg.KVBytes + t.cfg.StateBytes }

// PinID names a pinned prefix.
type PinID uint64

// Pin keeps a prefix: once it was computed, one copy of it stays, in whatever
// tier. Plans of recurrent models stop at its end for a checkpoint.
func (t *Tree) Pin(now Tick, tokens []Token) (PinID, error) {
	if len(tokens) == 0 {
		return 0, fmt.Errorf("pin of no tokens")
	}
	t.tick(now)
	x := t.insert(tokens)
	x.pins++
	x.up(func(y *node) { y.pinned++ })
	t.lastPin++
	t.pins[t.lastPin] = x
	return t.lastPin, nil
}

// Unpin lets a prefix age like any other. Unknown pins are ignored.
func (t *Tree) Unpin(id PinID) {
	x := t.pins[id]
	if x == nil {
		return
	}
	delete(t.pins, id)
	x.pins--
	x.up(func(y *node) { y.pinned-- })
	t.wake(x)
	t.tidy(x)
}

// Stored describes a complete object that was found on disk.
type Stored struct {
	Path  []Token // from the root to the object's end
	From  int     // its rows are [From, len(Path))
	State bool
	Bytes int64
	Last  Tick
	Class uint8 // as Result.Class
}

// Adopt enters what a store found on disk, at start. It returns the id of each,
// 0 for those that are refused: no rows and no state, rows it rests on missing,
// or no budget. The caller deletes these.
func (t *Tree) Adopt(found []Stored) []ObjectID {
	ids := make([]ObjectID, len(found))
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	// What others rest on begins before them. It may end behind them: rows of one
	// path are the ground of all that leave it halfway.
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := found[a], found[b]
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(len(x.Path), len(y.Path)))
	})
	for _, i := range order {
		ids[i] = t.adopt(found[i])
	}
	return ids
}

func (t *Tree) adopt(f Stored) ObjectID {
	n := len(f.Path)
	if n == 0 || f.From < 0 || f.From > n || f.From == n && !f.State || f.State && !t.cfg.Checkpoints ||
		f.Bytes <= 0 || t.used[Disk]+f.Bytes > t.budget[Disk] {
		return 0
	}
	x := t.insert(f.Path)
	tr := t.match(f.Path[:f.From])
	t.nodeAt(tr, f.From)
	rests := true
	x.up(func(y *node) { rests = rests && (y.start() >= f.From || y.stored()) })
	if !rests {
		t.tidy(x)
		return 0
	}
	x.last = max(x.last, f.Last)
	o := t.attach(x, Disk, f.From, f.State, f.Bytes, live)
	o.level = t.cfg.levelOf(f.Class)
	return o.id
}

// Path is the tokens from the root to the end of an object, for its container;
// nil if there is no such object.
func (t *Tree) Path(id ObjectID) []Token {
	if o := t.objects[id]; o != nil && o.node != nil {
		return o.node.path()
	}
	return nil
}
