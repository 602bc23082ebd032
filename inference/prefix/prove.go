package prefix

import (
	"fmt"
	"slices"
	"strings"

	"dure/gguf"
	"dure/inference/engine"
	"dure/kvcache"
	"dure/kvcache/blob"
)

// prove finds out how states of the context are written, or that they must be
// kept whole, and what they cost.
func (c *Cache) prove(batch *engine.Batch, opt Options) (cfg kvcache.Config, err error) {
	l, reason := c.derive(opt.Geometry)
	p := c.probe(batch)
	if reason == nil {
		p.Layout = l
		v := p.Run()
		l, reason = v.Layout, v.Reason
	}
	if reason == nil {
		c.layout, c.kept = l, oneStream(l)
		cfg.Checkpoints, cfg.KVBytes, cfg.StateBytes = l.HasState(), int64(l.TokenBytes()), int64(l.StateBytes())
		return cfg, nil
	}
	c.opaque = reason
	c.log.Warn("states of this model are kept whole: agents share prefixes in the context only", "reason", reason)
	f := opt.Facts
	cfg.Opaque, cfg.Checkpoints = true, f.Recurrent || f.Hybrid || f.SlidingWin > 0
	return cfg, c.weigh(&cfg, p)
}

// oneStream is a layout whose bytes do not tell how many sequences the context
// has, so that one with more or fewer can take them from the disk.
func oneStream(l blob.Layout) blob.Layout {
	l.Pools = slices.Clone(l.Pools)
	for i := range l.Pools {
		l.Pools[i].Streams = 1
	}
	return l
}

// weigh finds the size of states that cannot be read.
func (c *Cache) weigh(cfg *kvcache.Config, p blob.Probe) error {
	var sizes [2]int
	for i, at := range []int{0, 3} {
		if err := p.Decode(p.From, p.Tokens[at:3+4*i], at); err != nil {
			return err
		}
		data, err := p.Get(p.From, blob.Whole)
		if err != nil {
			return err
		}
		sizes[i] = len(data)
	}
	cfg.KVBytes = int64(sizes[1]-sizes[0]+3) / 4
	if cfg.Checkpoints {
		data, err := p.Get(p.From, blob.Partial)
		if err != nil {
			return err
		}
		cfg.StateBytes = int64(len(data))
	}
	return p.Clear(p.From)
}

// Opaque is the reason why states are kept whole, nil if they are not.
func (c *Cache) Opaque() error { return c.opaque }

// derive is the layout that the model's header lets expect.
func (c *Cache) derive(g *gguf.Geometry) (l blob.Layout, err error) {
	if g == nil {
		return l, fmt.Errorf("%w: the model's header is not at hand", blob.ErrUnproven)
	}
	o := c.ctx.Options()
	opt := blob.Options{Streams: o.Sequences, Transposed: o.FlashAttention == engine.FlashOff}
	if o.Unified {
		opt.Streams = 1
	}
	if opt.Keys, err = cacheType(o.KeyType); err != nil {
		return l, err
	}
	if opt.Values, err = cacheType(o.ValueType); err != nil {
		return l, err
	}
	return blob.Of(g, opt)
}

func cacheType(name string) (t gguf.TensorType, err error) {
	if name == "" {
		return gguf.F16, nil
	}
	return t, t.UnmarshalText([]byte(strings.ToUpper(name)))
}

func (c *Cache) probe(batch *engine.Batch) blob.Probe {
	last := c.ctx.Options().Sequences - 1
	return blob.Probe{
		Tokens: []int32{1, 2, 3, 4, 5, 6, 7}, From: 0, To: last,
		Decode: func(seq int, tokens []int32, at int) error {
			batch.Reset()
			for i, t := range tokens {
				if err := batch.Add(t, at+i, seq, false); err != nil {
					return err
				}
			}
			return c.ctx.Decode(batch)
		},
		Get:   func(seq int, part blob.Part) ([]byte, error) { return c.ctx.State(nil, seq, flags(part)) },
		Set:   func(seq int, data []byte, part blob.Part) error { return c.ctx.SetState(data, seq, flags(part)) },
		Clear: c.clear,
	}
}

func flags(p blob.Part) engine.StateFlags {
	if p == blob.Partial {
		return engine.StatePartial
	}
	return engine.StateWhole
}

func (c *Cache) clear(seq int) error { return c.ctx.Remove(seq, engine.All, engine.All) }
