package kvcache

import "fmt"

// ActionID names an action that was handed out.
type ActionID uint64

// Kind of an action.
type Kind uint8

const (
	// Save: copy rows and state of sequence Seq into the RAM objects Objects.
	// The state is that of where the sequence stands.
	Save Kind = iota + 1
	// Restore: make sequence Seq hold exactly the first At tokens of a path.
	// [0, Shared) comes from sequence From (-1 = none), then Pieces in order; the
	// recurrent state from object State, or, if that is 0, from the sequence or
	// piece that stands at At. From == Seq cuts the sequence back in place.
	// Whatever fails, the sequence must be empty afterwards.
	Restore
	// Clear: empty sequence Seq.
	Clear
	// Write: copy RAM object Source to disk object Objects[0].
	Write
	// Drop: free or delete Objects[0].
	Drop
	// Shrink: code disk object Objects[0] anew as Class, in less room.
	Shrink
)

func (k Kind) String() string {
	return [...]string{"", "save", "restore", "clear", "write", "drop", "shrink"}[k]
}

// Target is an object of an action: rows of positions [From, To), and the
// recurrent state at To if State.
type Target struct {
	ID       ObjectID
	Tier     Tier
	From, To int
	State    bool
	Bytes    int64
}

// Action is what the owner is to do. Actions on sequences are carried out
// before anything else is computed; a Restore from disk may fetch bytes first.
type Action struct {
	ID      ActionID
	Kind    Kind
	Seq     int
	From    int
	At      int
	Shared  int
	Pieces  []Target // the rows wanted of each, which may be less than it has
	State   ObjectID
	Source  ObjectID
	Objects []Target
	// Class of a Write or Shrink, of Config.Smaller; 0 = as otherwise.
	Class uint8
}

// Result is what became of an action. Err set = nothing of it exists.
type Result struct {
	Err error
	// Bad is the object that could not be read, if it was that: it is dropped
	// and never used again.
	Bad ObjectID
	// Bytes of each of a Save's or Write's Objects, where they differ from what
	// was asked for; nil = as asked. Of a Shrink what the object takes now.
	Bytes []int64
	// Class that the object of a Write or Shrink has now, if not the one asked for.
	Class uint8
}

// step is an action that waits for its turn.
type step struct {
	Action
	checkpoint *node // of a Save: the sequence must still stand here
	src        source
}

// job is actions in order, each handed out when the one before is done.
type job struct {
	steps   []*step
	lease   *lease
	payee   *lease    // gets the cells that are cleared, where that is not lease
	held    int       // a sequence that must stay as it is until the end, +1
	leaving []*object // what its drops and shrinks will free, and may be promised
	victims seqSet    // sequences that it clears
	noWrite bool      // a write failed: those after it rest on it
	noRoom  [tiers]bool
	balance bool
}

func (j *job) add(s *step) { j.steps = append(j.steps, s) }

func (t *Tree) submit(j *job) {
	if len(j.steps) > 0 {
		t.runnable = append(t.runnable, j)
	} else {
		t.finish(j)
	}
}

func (t *Tree) target(o *object) Target {
	return Target{ID: o.id, Tier: o.tier, From: o.from, To: o.to, State: o.state, Bytes: o.bytes}
}

// Pending reports whether Next may have something.
func (t *Tree) Pending() bool { return len(t.runnable) > 0 }

// Next hands out an action, if there is one.
func (t *Tree) Next() (Action, bool) {
	for len(t.runnable) > 0 {
		j := t.runnable[0]
		t.runnable = t.runnable[1:]
		if len(j.steps) == 0 {
			t.finish(j)
			continue
		}
		if s := j.steps[0]; !t.still(j, s) {
			continue
		} else {
			t.lastAction++
			s.ID = t.lastAction
			t.flight[s.ID] = j
			return s.Action, true
		}
	}
	return Action{}, false
}

// still reports whether a step makes sense when its turn comes. If not, it is
// undone and the job goes on.
func (t *Tree) still(j *job, s *step) bool {
	ok := true
	switch s.Kind {
	case Save:
		ok = !j.noRoom[RAM] && (s.checkpoint == nil || t.slots[s.Seq].node == s.checkpoint)
	case Write:
		ok = !j.noWrite && !j.noRoom[Disk] && !t.objects[s.Source].doomed
	case Restore:
		if !t.stands(s) {
			t.counts.Replanned++
			t.letGo(s.src)
			t.again(j, ofAll)
			return false
		}
	}
	if !ok {
		t.counts.Skipped++
		t.undo(j, s)
		t.advance(j)
	}
	return ok
}

// Done reports an action's result; each exactly once. It fails where the caller
// broke the protocol, and where a Clear failed, which an engine in order does not
// do: the context is to be given up then, and the tree with it.
func (t *Tree) Done(now Tick, id ActionID, r Result) error {
	j := t.flight[id]
	if j == nil {
		return fmt.Errorf("action %d is not under way", id)
	}
	s := j.steps[0]
	if s.Kind == Clear && r.Err != nil {
		return fmt.Errorf("sequence %d cannot be cleared, the context is lost: %w", s.Seq, r.Err)
	}
	t.tick(now)
	delete(t.flight, id)
	if r.Err != nil {
		t.counts.Failed++
	}
	switch s.Kind {
	case Save, Write:
		t.made(j, s, r)
	case Drop:
		t.dropped(j, s, r)
	case Shrink:
		t.shrunk(j, s, r)
	case Clear:
		cells := t.leave(s.Seq, nil)
		t.pay(j.lease, cells)
		t.pay(j.payee, cells)
		t.slots[s.Seq].busy = j.lease != nil && j.lease.slot == s.Seq
	case Restore:
		if !t.restored(j, s, r) {
			return nil // a new job takes over
		}
	}
	t.advance(j)
	return nil
}

func (t *Tree) advance(j *job) {
	j.steps = j.steps[1:]
	t.runnable = append(t.runnable, j)
}

// made ends a Save or Write.
func (t *Tree) made(j *job, s *step, r Result) {
	if r.Err != nil {
		t.undo(j, s)
		return
	}
	t.release(s)
	for i, target := range s.Objects {
		o := t.objects[target.ID]
		if i < len(r.Bytes) {
			t.used[o.tier] += r.Bytes[i] - o.bytes
			o.bytes = r.Bytes[i]
		}
		o.level = max(o.level, t.cfg.levelOf(r.Class))
		t.settle(o)
		if o.doomed {
			t.condemn(o)
		}
	}
}

// undo ends a Save or Write that did not happen.
func (t *Tree) undo(j *job, s *step) {
	if s.Kind == Write {
		j.noWrite = true
	}
	t.release(s)
	for _, target := range s.Objects {
		t.forget(t.objects[target.ID])
	}
}

// release lets go of what a Save or Write read.
func (t *Tree) release(s *step) {
	if s.Kind == Write {
		if o := t.objects[s.Source]; o != nil {
			t.unhold(o)
		}
	}
	if s.checkpoint != nil {
		s.checkpoint.leases--
		t.tidy(s.checkpoint)
	}
}

// dropped ends a Drop. An object that could not be dropped stays in the ledger,
// and what was promised its room is not made.
func (t *Tree) dropped(j *job, s *step, r Result) {
	o := t.objects[s.Objects[0].ID]
	if r.Err == nil {
		t.forget(o)
		return
	}
	t.used[o.tier] += o.passed
	j.noRoom[o.tier] = j.noRoom[o.tier] || o.passed > 0
	o.passed, o.stuck = 0, true
	t.stuck = append(t.stuck, o.id)
}

// finish ends a job.
func (t *Tree) finish(j *job) {
	if j.balance {
		t.writing--
	}
	if j.held > 0 {
		t.slots[j.held-1].holds--
		t.clean(j.held - 1)
	}
	l := j.lease
	if l == nil {
		return
	}
	l.job = nil
	t.slots[l.slot].busy = false
	if l.cancelled {
		t.end(l)
	}
}
