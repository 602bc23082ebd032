package reuse

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"dure/inference/sched"
	"dure/kvcache"
)

// Ours plays the load with the real scheduler and prefix tree.
func Ours(l Load, s Server) (Report, error) {
	o, err := newOwner(l, s)
	if err != nil {
		return Report{}, err
	}
	for o.left > 0 {
		if err := o.round(); err != nil {
			return Report{}, fmt.Errorf("after %d turns: %w", o.tally.Turns, err)
		}
	}
	return o.tally.report(o.now), nil
}

// owner does what the goroutine that owns a model's context does.
type owner struct {
	load   Load
	server Server
	now    Tick
	sched  *sched.Scheduler
	tree   *kvcache.Tree
	coming arrivals
	alive  map[sched.ID]*running
	// fetching are those of them whose sequence is being filled.
	fetching map[sched.ID]*running
	// slow are actions of the disk under way, in the order of their ends.
	slow  []slow
	disk  Tick // when the disk is free
	last  sched.ID
	left  int // agents that have turns
	tally tally
}

type running struct {
	*agent
	id    sched.ID
	lease kvcache.LeaseID
	all   []Token // prompt and what was drawn
	read  int
	slot  int
}

type slow struct {
	kvcache.Action
	end Tick
}

func newOwner(l Load, s Server) (*owner, error) {
	o := &owner{load: l, server: s, alive: map[sched.ID]*running{}, fetching: map[sched.ID]*running{}, left: l.Agents}
	var err error
	if o.sched, err = sched.New(sched.Limits{Slots: s.Slots, Queue: l.Agents, Chunk: chunk, Checkpoints: s.StateBytes > 0}); err != nil {
		return nil, err
	}
	o.tree, err = kvcache.New(kvcache.Config{
		Slots: s.Slots, Cells: s.Slots * s.Window, Checkpoints: s.StateBytes > 0, KVBytes: s.KVBytes, StateBytes: s.StateBytes,
		RAMBytes: s.RAM, DiskBytes: s.Disk, Sessions: 4096, Writes: 2,
		Cost: kvcache.Cost{Prefill: s.Token, Hot: s.RAMMiB, RAM: s.RAMMiB, Disk: s.DiskMiB, HalfLife: 600 * second},
	})
	for id := range l.Agents {
		o.coming.add(l.newAgent(id))
	}
	return o, err
}

// round is one step, or a sleep where there is nothing to compute.
func (o *owner) round() error {
	o.finishSlow()
	for a := o.coming.due(o.now); a != nil; a = o.coming.due(o.now) {
		if err := o.add(a); err != nil {
			return err
		}
	}
	if err := o.arrange(); err != nil {
		return err
	}
	step := o.sched.Next(o.now)
	if step.Empty() {
		return o.sleep()
	}
	if err := o.decode(slices.Clone(step.Decode)); err != nil {
		return err
	}
	return o.prefill(step.Prefill)
}

func (o *owner) add(a *agent) error {
	o.last++
	o.alive[o.last] = &running{agent: a, id: o.last, all: slices.Clip(a.prompt), slot: -1}
	return o.sched.Add(o.now, sched.Request{ID: o.last, Tokens: a.prompt, Agent: uint64(a.id + 1), Priority: a.class})
}

func (o *owner) arrange() error {
	for {
		id, ok := o.sched.Candidate(o.now)
		if !ok {
			break
		}
		if err := o.place(o.alive[id]); err != nil {
			return err
		}
		if err := o.pump(); err != nil {
			return err
		}
	}
	if err := o.pump(); err != nil { // what the disk has done may be waited for
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(o.fetching)) { // in an order that is always the same
		if err := o.begin(o.fetching[id]); err != nil {
			return err
		}
	}
	return nil
}

func (o *owner) place(r *running) error {
	lease, plan, err := o.tree.Acquire(o.now, kvcache.Request{
		Tokens: r.all, Marks: r.marks, Output: o.load.Answer - r.drawn, Session: kvcache.SessionID(r.agent.id + 1)})
	if errors.Is(err, kvcache.ErrFull) {
		if victim, ok := o.sched.Full(o.now, r.id); ok {
			return o.park(o.alive[victim])
		}
		return nil
	}
	if err != nil {
		return err
	}
	r.lease, r.slot, o.fetching[r.id] = lease, plan.Slot, r
	if err := o.sched.Admit(o.now, r.id, plan.Slot, plan.Reuse, plan.Stops); err != nil {
		return err
	}
	o.sched.Hold(r.id, true)
	return nil
}

func (o *owner) park(r *running) error {
	o.tally.Parked++
	o.tree.Release(o.now, r.lease, kvcache.Waiting)
	r.lease, r.slot = 0, -1
	delete(o.fetching, r.id)
	return o.sched.Park(o.now, r.id, r.all)
}

// begin lets a request be read whose sequence holds what is reused.
func (o *owner) begin(r *running) error {
	plan, ready, err := o.tree.Ready(r.lease)
	if err != nil || !ready {
		return err
	}
	r.read = plan.Reuse
	delete(o.fetching, r.id)
	if !r.placed {
		r.placed = true
		o.tally.began(o.load, r.agent, o.now, plan.Reuse)
	}
	if err := o.sched.Replan(r.id, plan.Reuse, plan.Stops); err != nil {
		return err
	}
	o.sched.Hold(r.id, false)
	return nil
}

func (o *owner) decode(rows []sched.Row) error {
	if len(rows) == 0 {
		return nil
	}
	took := o.server.Step + o.server.Row*Tick(len(rows))
	o.now += took
	o.sched.Decoded(len(rows), took)
	for _, row := range rows {
		r := o.alive[row.ID]
		if err := o.extend(r, 1); err != nil {
			return err
		}
		if err := o.draw(r); err != nil {
			return err
		}
	}
	return nil
}

func (o *owner) prefill(c sched.Chunk) error {
	r := o.alive[c.ID]
	if c.N == 0 || r == nil || r.slot != c.Slot {
		return nil
	}
	took := o.server.Chunk + o.server.Token*Tick(c.N)
	o.now += took
	o.sched.Read(c.ID, c.N, took)
	if err := o.extend(r, c.N); err != nil {
		return err
	}
	if c.Stop {
		if _, err := o.tree.Checkpoint(o.now, r.lease); err != nil {
			return err
		}
		if err := o.pump(); err != nil {
			return err
		}
	}
	if c.Last {
		return o.draw(r)
	}
	return nil
}

func (o *owner) extend(r *running, n int) error {
	if err := o.tree.Extend(o.now, r.lease, r.all[r.read:r.read+n]); err != nil {
		return err
	}
	r.read += n
	return nil
}

// draw gives a request its next token, and ends it with the last one.
func (o *owner) draw(r *running) error {
	r.all = append(r.all, r.own(len(r.all)))
	if r.drawn++; r.drawn < o.load.Answer {
		return nil
	}
	o.tree.Release(o.now, r.lease, kvcache.Waiting)
	o.sched.Remove(o.now, r.id)
	delete(o.alive, r.id)
	if !r.next(o.load) {
		o.left--
		o.tree.Hint(o.now, kvcache.SessionID(r.agent.id+1), kvcache.Ended)
		return nil
	}
	r.arrived = o.now + o.load.tool(r.agent)
	o.coming.add(r.agent)
	return nil
}
