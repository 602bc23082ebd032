package prefix

import (
	"fmt"

	"dure/gguf"
	"dure/kvcache"
	"dure/kvcache/codec"
	"dure/kvcache/store"
)

// Loss is the quality class that the state of a sequence of requests has gone
// through since it was computed: codec.Exact, or 0, if nothing of it was lost.
// Whoever answers from it says so.
func (c *Cache) Loss(seq int) codec.Class { return c.losses[seq] }

// lossOf a restore: the worst of what it is made of. read is that of what came
// from the disk.
func (c *Cache) lossOf(a kvcache.Action, read codec.Class) codec.Class {
	worst := read
	if a.From >= 0 {
		worst = max(worst, c.losses[a.From])
	}
	for _, p := range a.Pieces {
		worst = max(worst, c.ram[p.ID].loss)
	}
	return max(worst, c.ram[a.State].loss)
}

// writes is the class that an object is written in: that of the tier, the tree's, or
// what its sequence has lost already, whichever is worse. Bytes that go on from a loss
// are not exact, however they are stored, and who reads them must be told.
func (c *Cache) writes(a kvcache.Action) codec.Class {
	if class := max(codec.Class(a.Class), c.ram[a.Source].loss); class > max(c.class, codec.Exact) && c.opaque == nil {
		return class
	}
	return 0
}

// empty clears a sequence of requests, which then has lost nothing.
func (c *Cache) empty(seq int) error {
	c.tell(seq, 0)
	return c.clear(seq)
}

// tell enters the loss of a sequence that was restored or emptied.
func (c *Cache) tell(seq int, loss codec.Class) {
	if loss > codec.Exact {
		c.losses[seq] = loss
		return
	}
	delete(c.losses, seq)
}

// classes puts what the disk tier needs to write a class, and to read any, into
// its configuration.
func (c *Cache) classes(cfg *store.Config, d Disk, g *gguf.Geometry) error {
	if c.opaque != nil {
		if d.Class > codec.Exact {
			return fmt.Errorf("quality class %v of stored states: states of this model are kept whole: %w; store them as %v", d.Class, c.opaque, codec.Exact)
		}
		return nil
	}
	form, err := codec.FormOf(g, c.kept)
	if err != nil {
		return err
	}
	cfg.Form, cfg.Class = &form, d.Class
	if len(d.Basis) > 0 {
		cfg.Basis, err = codec.ParseBasis(d.Basis, form)
	}
	return err
}
