package prefix

import (
	"errors"
	"fmt"
	"time"

	"dure/inference/engine"
	"dure/kvcache"
	"dure/kvcache/blob"
)

// ErrLost: a sequence could not be cleared. The context is to be given up.
var ErrLost = errors.New("the engine's context is lost")

// Pump carries out what the tree wants. It is called before anything is
// computed after a call that may want something: Acquire, Checkpoint, Release,
// Park, Balance, Completed. What needs a file goes on later (Completed).
func (c *Cache) Pump(now kvcache.Tick) error {
	for c.lost == nil {
		a, ok := c.Next()
		if !ok {
			return nil
		}
		if !c.fetch(now, a) {
			c.done(now, a.ID, c.act(a))
		}
	}
	return c.lost
}

func (c *Cache) done(now kvcache.Tick, id kvcache.ActionID, r kvcache.Result) {
	if err := c.Done(now, id, r); err != nil && c.lost == nil {
		c.lost = fmt.Errorf("%w: %w", ErrLost, err)
	}
}

// act carries out an action whose bytes are all in memory.
func (c *Cache) act(a kvcache.Action) (r kvcache.Result) {
	switch a.Kind {
	case kvcache.Save:
		r.Bytes, r.Err = c.save(a)
	case kvcache.Restore:
		begin, bytes := time.Now(), c.size(a)
		r = c.restore(a, nil, 0)
		c.prices.ram.add(time.Since(begin), bytes)
	case kvcache.Clear:
		r.Err = c.empty(a.Seq)
	case kvcache.Drop:
		r.Err = c.drop(a.Objects[0].ID)
	default:
		r.Err = fmt.Errorf("%s without a disk", a.Kind)
	}
	if r.Err != nil {
		c.log.Warn("prefix cache", "action", a.Kind.String(), "sequence", a.Seq, "error", r.Err)
	}
	return r
}

// size of what a restore brings from memory.
func (c *Cache) size(a kvcache.Action) (bytes int) {
	for _, p := range a.Pieces {
		bytes += len(c.ram[p.ID].data)
	}
	return bytes + len(c.ram[a.State].data)
}

func (c *Cache) drop(id kvcache.ObjectID) error {
	o, ok := c.ram[id]
	if !ok {
		return fmt.Errorf("object %d is not in memory", id)
	}
	delete(c.ram, id)
	return o.free()
}

// save copies parts of a sequence into objects.
func (c *Cache) save(a kvcache.Action) (sizes []int64, err error) {
	var made []kvcache.ObjectID
	defer func() {
		if err != nil { // all or nothing
			for _, id := range made {
				err = errors.Join(err, c.drop(id))
			}
		}
	}()
	var whole, state *blob.Blob
	for _, t := range a.Objects {
		source := &state
		if part(t.From, t.To) == blob.Whole {
			source = &whole
		}
		if *source == nil && c.opaque == nil {
			if *source, err = c.read(a.Seq, lowest(a.Objects), part(t.From, t.To)); err != nil {
				return nil, err
			}
		}
		data, err := c.cut(a.Seq, *source, t)
		if err != nil {
			return nil, err
		}
		o, err := keep(t, data)
		if err != nil {
			return nil, err
		}
		o.loss = c.losses[a.Seq] // some of it may be older than the sequence
		c.ram[t.ID] = o
		made, sizes = append(made, t.ID), append(sizes, int64(len(data)))
	}
	return sizes, nil
}

// lowest position of which rows are wanted.
func lowest(objects []kvcache.Target) int {
	low := objects[0].From
	for _, t := range objects {
		low = min(low, t.From)
	}
	return low
}

// cut makes the bytes of one object.
func (c *Cache) cut(seq int, b *blob.Blob, t kvcache.Target) ([]byte, error) {
	switch {
	case c.opaque != nil:
		return c.cutOpaque(seq, t)
	case t.From < t.To:
		rows, err := b.Rows(t.From, t.To)
		if err != nil {
			return nil, fmt.Errorf("rows [%d,%d) of sequence %d: %w", t.From, t.To, seq, err)
		}
		b = rows
	default:
		if b.End() != t.To {
			return nil, fmt.Errorf("sequence %d stands at %d, its state at %d is wanted: %w", seq, b.End(), t.To, blob.ErrState)
		}
		b = b.State()
	}
	b, err := blob.Join(c.kept, b)
	if err != nil {
		return nil, fmt.Errorf("sequence %d: %w", seq, err)
	}
	c.joined = b.Append(c.joined[:0], part(t.From, t.To))
	return c.joined, nil
}

// cutOpaque is cut where the bytes are not understood: what cannot be read off them is
// asked of the engine.
func (c *Cache) cutOpaque(seq int, t kvcache.Target) ([]byte, error) {
	end, err := c.ctx.End(seq)
	if err != nil {
		return nil, err
	}
	if p := part(t.From, t.To); p == blob.Partial && end != t.To || end < t.To {
		return nil, fmt.Errorf("sequence %d stands at %d, its state at %d is wanted: %w", seq, end, t.To, blob.ErrState)
	}
	return c.state(seq, part(t.From, t.To))
}

// read parses the state of a sequence, in a unified pool without the rows before
// a position, through the spare sequence.
func (c *Cache) read(seq, from int, p blob.Part) (b *blob.Blob, err error) {
	if p == blob.Whole && from > 0 && c.unified {
		if err := c.ctx.Copy(seq, c.spare, from, engine.All); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, c.clear(c.spare)) }()
		seq = c.spare
	}
	data, err := c.state(seq, p)
	if err != nil {
		return nil, err
	}
	return blob.Parse(c.layout, data, p)
}

// state reads bytes that stay until the same part is read again.
func (c *Cache) state(seq int, p blob.Part) (data []byte, err error) {
	c.buffer[p], err = c.ctx.State(c.buffer[p][:0], seq, flags(p))
	return c.buffer[p], err
}
