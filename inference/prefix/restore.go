package prefix

import (
	"errors"
	"fmt"
	"slices"

	"dure/inference/engine"
	"dure/kvcache"
	"dure/kvcache/blob"
	"dure/kvcache/codec"
)

// restore makes a sequence hold the first a.At tokens of a path. read has the
// bytes of objects that are not in memory, and loss what they have lost. Whatever
// fails, the sequence is empty afterwards.
func (c *Cache) restore(a kvcache.Action, read map[kvcache.ObjectID][]byte, loss codec.Class) (r kvcache.Result) {
	loss = c.lossOf(a, loss)
	parts, bad, err := c.parts(a, read)
	if err == nil {
		err = c.place(a, parts)
	}
	if err == nil {
		err = c.standsAt(a.Seq, a.At)
	}
	if err != nil {
		return kvcache.Result{Err: errors.Join(err, c.empty(a.Seq)), Bad: bad}
	}
	c.tell(a.Seq, loss)
	return kvcache.Result{}
}

// parts are the saved pieces of a restore, rows first, the state last.
type parts struct {
	rows  []*blob.Blob
	state *blob.Blob
	// of opaque states, which are only ever set as they are
	whole, partial []byte
}

func (c *Cache) parts(a kvcache.Action, read map[kvcache.ObjectID][]byte) (p parts, bad kvcache.ObjectID, err error) {
	for _, t := range a.Pieces {
		data, err := c.bytes(t.ID, read)
		if err != nil {
			return p, t.ID, err
		}
		if c.opaque != nil {
			p.whole = data
			continue
		}
		b, err := blob.Parse(c.kept, data, blob.Whole)
		if err == nil {
			b, err = b.Rows(t.From, t.To)
		}
		if err != nil {
			return p, t.ID, fmt.Errorf("saved rows: %w", err)
		}
		p.rows = append(p.rows, b)
	}
	if a.State == 0 {
		return p, 0, nil
	}
	if p.partial, err = c.bytes(a.State, read); err != nil {
		return p, a.State, err
	}
	if c.opaque == nil {
		if p.state, err = blob.Parse(c.kept, p.partial, blob.Partial); err == nil && p.state.End() != a.At {
			err = fmt.Errorf("saved state is of %d, not %d: %w", p.state.End(), a.At, blob.ErrState)
		}
		if err == nil && c.streams() {
			p.state, err = blob.Join(c.layout, p.state)
		}
		if err != nil {
			return p, a.State, err
		}
		if c.streams() {
			p.partial = p.state.Append(nil, blob.Partial)
		}
	}
	return p, 0, nil
}

// streams reports whether the engine's bytes of a state tell how many sequences
// its context has, which saved ones do not: those of a window do.
func (c *Cache) streams() bool {
	return !c.unified && slices.ContainsFunc(c.layout.Pools, func(p blob.Pool) bool { return p.Window > 0 })
}

func (c *Cache) bytes(id kvcache.ObjectID, read map[kvcache.ObjectID][]byte) ([]byte, error) {
	if data, ok := read[id]; ok {
		return data, nil
	}
	if o, ok := c.ram[id]; ok {
		return o.data, nil
	}
	return nil, fmt.Errorf("object %d is not in memory", id)
}

// place puts the parts where they belong.
func (c *Cache) place(a kvcache.Action, p parts) error {
	switch {
	case a.From == a.Seq:
		return c.cutBack(a, p)
	case p.whole != nil:
		return c.setWhole(a, p)
	case a.From < 0:
		return c.set(a.Seq, p, nil)
	case !c.unified:
		return c.forkSplit(a, p)
	case len(p.rows) == 0:
		return c.forkUnified(a, p)
	default:
		return c.onTop(a, p)
	}
}

// cutBack drops what is behind a position of a sequence. The state goes first:
// without it, models that have one refuse.
func (c *Cache) cutBack(a kvcache.Action, p parts) error {
	if len(p.rows) > 0 || p.whole != nil {
		return fmt.Errorf("rows for sequence %d, which holds them", a.Seq)
	}
	if p.partial != nil {
		if err := c.ctx.SetState(p.partial, a.Seq, engine.StatePartial); err != nil {
			return err
		}
	}
	return c.ctx.Remove(a.Seq, a.At, engine.All)
}

// setWhole gives a state to an empty sequence that was kept whole, and drops what
// of it is not wanted.
func (c *Cache) setWhole(a kvcache.Action, p parts) error {
	if err := c.ctx.SetState(p.whole, a.Seq, engine.StateWhole); err != nil {
		return err
	}
	if end, err := c.ctx.End(a.Seq); err != nil || end == a.At {
		return err
	}
	p.whole = nil
	return c.cutBack(a, p)
}

// set joins rows and state and gives them to an empty sequence.
func (c *Cache) set(seq int, p parts, head *blob.Blob) error {
	var all []*blob.Blob
	if head != nil {
		all = append(all, head)
	}
	all = append(all, p.rows...)
	if p.state != nil {
		all = append(all, p.state)
	}
	b, err := blob.Join(c.layout, all...)
	if err != nil {
		return err
	}
	if err := b.Complete(); err != nil {
		return err
	}
	c.joined = b.Append(c.joined[:0], blob.Whole)
	return c.ctx.SetState(c.joined, seq, engine.StateWhole)
}

// forkSplit gives a sequence a copy of another's rows. The engine's own copy
// between streams is put off until the next decode, and takes what the source
// holds by then; and it copies cells that are not used.
func (c *Cache) forkSplit(a kvcache.Action, p parts) error {
	data, err := c.state(a.From, blob.Whole)
	if err != nil {
		return err
	}
	if c.opaque != nil {
		if err := c.ctx.SetState(data, a.Seq, engine.StateWhole); err != nil {
			return err
		}
		return c.cutBack(a, p)
	}
	b, err := blob.Parse(c.layout, data, blob.Whole)
	if err != nil {
		return err
	}
	if p.state == nil && a.Shared == a.At { // it stands there, or has no state
		head, err := b.Prefix(a.At)
		if err != nil {
			return err
		}
		return c.set(a.Seq, p, head)
	}
	head, err := b.Rows(0, a.Shared)
	if err != nil {
		return err
	}
	return c.set(a.Seq, p, head)
}

// forkUnified shares the cells of another sequence. The copied state is that of
// its end; where it stands further on, the saved one replaces it.
func (c *Cache) forkUnified(a kvcache.Action, p parts) error {
	if err := c.ctx.Copy(a.From, a.Seq, 0, a.At); err != nil {
		return err
	}
	if p.partial == nil {
		return nil
	}
	return c.ctx.SetState(p.partial, a.Seq, engine.StatePartial)
}

// onTop shares the first cells of another sequence and brings the rest from
// saved rows, through the spare sequence. The state is set last: the copies
// bring others along.
func (c *Cache) onTop(a kvcache.Action, p parts) (err error) {
	tail := p.rows
	if p.state != nil {
		tail = append(tail[:len(tail):len(tail)], p.state)
	}
	b, err := blob.Join(c.layout, tail...)
	if err != nil {
		return err
	}
	c.joined = b.Append(c.joined[:0], blob.Whole)
	if err := c.ctx.SetState(c.joined, c.spare, engine.StateWhole); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.clear(c.spare)) }()
	if err := c.ctx.Copy(a.From, a.Seq, 0, a.Shared); err != nil {
		return err
	}
	if err := c.ctx.Copy(c.spare, a.Seq, a.Shared, a.At); err != nil {
		return err
	}
	if p.partial == nil {
		return nil
	}
	return c.ctx.SetState(p.partial, a.Seq, engine.StatePartial)
}

// standsAt checks that a sequence ends where it was to.
func (c *Cache) standsAt(seq, at int) error {
	end, err := c.ctx.End(seq)
	if err == nil && end != at {
		err = fmt.Errorf("sequence %d ends at %d, not at %d", seq, end, at)
	}
	return err
}
