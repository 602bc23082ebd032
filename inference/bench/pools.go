package bench

import (
	"context"
	"errors"
	"time"

	"dure/inference/engine"
)

// PoolOptions of a comparison of the two ways to keep the cells of a cache.
type PoolOptions struct {
	EngineDir, ModelPath string
	GPULayers            int
	Threads, Poll        int
	// Sequences, each of Shared tokens that all have and Private ones of its own.
	Sequences, Shared, Private int
	Repetitions                int
}

// PoolCosts are medians of what a step costs, in milliseconds.
type PoolCosts struct {
	// Dense: all sequences decode. Scattered: every other one does, as when agents
	// wait for their tools; in a split pool each gap is another pass.
	Dense     float64 `json:"dense_ms"`
	Scattered float64 `json:"scattered_ms"`
	// Chunk: 128 tokens of one prompt are read while the others hold theirs.
	Chunk float64 `json:"chunk_ms"`
}

// Sum weighs a step of all, one of half of them and a chunk alike.
func (c PoolCosts) Sum() float64 { return c.Dense + c.Scattered + c.Chunk }

// chunkTokens is what is read of a prompt beside running streams.
const chunkTokens = 128

// Pools measures both pools, one after the other, on the same loaded model.
func Pools(ctx context.Context, opt PoolOptions) (split, unified PoolCosts, err error) {
	err = WithModel(ctx, opt.EngineDir, opt.ModelPath, opt.GPULayers, func(model *engine.Model) (err error) {
		if split, err = measurePool(ctx, model, opt, false); err != nil {
			return err
		}
		unified, err = measurePool(ctx, model, opt, true)
		return err
	})
	return split, unified, err
}

// pooled is a context full of sequences.
type pooled struct {
	loop
	opt   PoolOptions
	fill  int
	unite bool
	// recurrent models cannot go back: their sequences are filled anew.
	recurrent bool
}

func measurePool(ctx context.Context, model *engine.Model, opt PoolOptions, unified bool) (c PoolCosts, err error) {
	p := &pooled{opt: opt, fill: opt.Shared + opt.Private, unite: unified}
	f := model.Facts()
	p.vocabulary, p.recurrent = f.Vocabulary, f.Recurrent || f.Hybrid
	each := p.fill + chunkTokens
	p.ctx, err = model.NewContext(engine.ContextOptions{
		Cells: each * opt.Sequences, Sequences: opt.Sequences, Batch: max(512, opt.Sequences), MicroBatch: max(512, opt.Sequences),
		Outputs: opt.Sequences, Threads: opt.Threads, Poll: opt.Poll, Unified: unified,
	})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, p.ctx.Close()) }()
	p.batch = p.ctx.NewBatch()
	defer p.batch.Close()
	if err := p.prepare(ctx); err != nil {
		return c, err
	}
	all, half := []int{}, []int{}
	for s := range opt.Sequences {
		all = append(all, s)
		if s%2 == 0 {
			half = append(half, s)
		}
	}
	for _, m := range []struct {
		to   *float64
		step func() error
	}{
		{&c.Dense, func() error { return p.rows(all) }},
		{&c.Scattered, func() error { return p.rows(half) }},
		{&c.Chunk, func() error { return p.read(0, p.fill, chunkTokens, false) }},
	} {
		if *m.to, err = p.median(ctx, m.step); err != nil {
			return c, err
		}
	}
	return c, nil
}

// prepare fills all sequences; a unified pool shares the cells of what is shared.
func (p *pooled) prepare(ctx context.Context) error {
	for s := range p.opt.Sequences {
		from := 0
		// What models with recurrent layers would share is not only cells.
		if p.unite && s > 0 && !p.recurrent {
			if err := p.ctx.Copy(0, s, 0, p.opt.Shared); err != nil {
				return err
			}
			from = p.opt.Shared
		}
		if err := p.readOn(ctx, s, from); err != nil {
			return err
		}
	}
	return nil
}

// readOn fills a sequence from a position on.
func (p *pooled) readOn(ctx context.Context, seq, from int) error {
	for from < p.fill {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(512, p.fill-from)
		if err := p.read(seq, from, n, false); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// rows computes one token of each of some sequences.
func (p *pooled) rows(seqs []int) error {
	p.batch.Reset()
	for _, s := range seqs {
		if err := p.batch.Add(p.token(s), p.fill, s, true); err != nil {
			return err
		}
	}
	if err := p.ctx.Decode(p.batch); err != nil {
		return err
	}
	_, err := p.ctx.Logits(0) // waits for the result
	return err
}

// median of the milliseconds that a step takes.
func (p *pooled) median(ctx context.Context, step func() error) (float64, error) {
	var ms []float64
	for i := range p.opt.Repetitions + 1 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		begin := time.Now()
		if err := step(); err != nil {
			return 0, err
		}
		if i > 0 { // the first warms up
			ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
		}
		if err := p.back(ctx); err != nil {
			return 0, err
		}
	}
	return Median(ms), nil
}

// back takes away what a step added.
func (p *pooled) back(ctx context.Context) error {
	for s := range p.opt.Sequences {
		end, err := p.ctx.End(s)
		switch {
		case err != nil:
			return err
		case end == p.fill:
			continue
		case !p.recurrent:
			err = p.ctx.Remove(s, p.fill, engine.All)
		default:
			err = errors.Join(p.ctx.Remove(s, engine.All, engine.All), p.readOn(ctx, s, 0))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
