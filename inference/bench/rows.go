package bench

import (
	"context"
	"slices"
	"time"

	"dure/inference/engine"
)

// RowOptions of a measurement of what steps with several rows of one sequence cost.
type RowOptions struct {
	EngineDir, ModelPath string
	GPULayers            int
	Threads, Poll        int
	// Contexts are lengths of the sequence in tokens, Rows the rows of a step, all
	// with logits.
	Contexts, Rows []int
	Repetitions    int
}

// RowCost is the median of a step at a length of the sequence.
type RowCost struct {
	Context int     `json:"context"`
	Rows    int     `json:"rows"`
	MS      float64 `json:"ms"`
	// Won is the most that a step of so many rows gains: tokens a second if all were
	// accepted, times those of steps of one row.
	Won float64 `json:"won"`
}

// Rows measures what there is to be won by drafts on this machine.
func Rows(ctx context.Context, opt RowOptions) (all []RowCost, err error) {
	err = WithModel(ctx, opt.EngineDir, opt.ModelPath, opt.GPULayers, func(model *engine.Model) (err error) {
		all, err = measureRows(ctx, model, opt)
		return err
	})
	return all, err
}

func measureRows(ctx context.Context, model *engine.Model, opt RowOptions) ([]RowCost, error) {
	const piece = 512
	longest, widest := slices.Max(slices.Concat(opt.Contexts, []int{0})), slices.Max(slices.Concat(opt.Rows, []int{1}))
	batch := max(piece, widest)
	c, err := model.NewContext(engine.ContextOptions{
		Cells: longest + widest, Sequences: 1, Batch: batch, MicroBatch: batch, Outputs: widest,
		Threads: opt.Threads, Poll: opt.Poll, Unified: true,
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	l := &loop{ctx: c, batch: c.NewBatch(), vocabulary: model.Facts().Vocabulary}
	defer l.batch.Close()
	var all []RowCost
	at := 0
	for _, n := range opt.Contexts {
		for ; at < n; at += min(piece, n-at) {
			if err := l.read(0, at, min(piece, n-at), false); err != nil {
				return nil, err
			}
		}
		costs, err := l.rowCosts(ctx, opt, at)
		if err != nil {
			return nil, err
		}
		all = append(all, costs...)
	}
	return all, nil
}

// rowCosts times steps behind a position, the sizes in turn so that a drift of the
// machine meets all.
func (l *loop) rowCosts(ctx context.Context, opt RowOptions, at int) (costs []RowCost, err error) {
	took := make([][]float64, len(opt.Rows))
	for range opt.Repetitions {
		for i, rows := range opt.Rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			begin := time.Now()
			if err := l.read(0, at, rows, true); err != nil {
				return nil, err
			}
			took[i] = append(took[i], float64(time.Since(begin).Microseconds())/1000)
			if err := l.ctx.Remove(0, at, engine.All); err != nil {
				return nil, err
			}
		}
	}
	one := Median(took[0]) / float64(opt.Rows[0])
	for i, rows := range opt.Rows {
		ms := Median(took[i])
		costs = append(costs, RowCost{Context: at, Rows: rows, MS: ms, Won: one * float64(rows) / ms})
	}
	return costs, nil
}
