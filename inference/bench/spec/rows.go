package spec

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"dure/inference/bench"
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
func Rows(ctx context.Context, opt RowOptions) ([]RowCost, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lib, err := engine.Open(opt.EngineDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	model, err := lib.LoadModel(ctx, engine.LoadOptions{Path: opt.ModelPath, GPULayers: opt.GPULayers})
	if err != nil {
		return nil, err
	}
	defer model.Close()
	longest, widest := 0, 0
	for _, n := range opt.Contexts {
		longest = max(longest, n)
	}
	for _, n := range opt.Rows {
		widest = max(widest, n)
	}
	const batch = 512
	c, err := model.NewContext(engine.ContextOptions{
		Cells: longest + widest, Sequences: 1, Batch: max(batch, widest), MicroBatch: max(batch, widest), Outputs: max(1, widest),
		Threads: opt.Threads, Poll: opt.Poll, Unified: true,
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	s := &stretch{ctx: c, batch: c.NewBatch(), vocabulary: model.Facts().Vocabulary}
	defer s.batch.Close()
	return s.measure(ctx, opt, batch)
}

// stretch is a sequence of fixed tokens that grows.
type stretch struct {
	ctx        *engine.Context
	batch      *engine.Batch
	vocabulary int
}

func (s *stretch) measure(ctx context.Context, opt RowOptions, piece int) ([]RowCost, error) {
	var all []RowCost
	at := 0
	for _, n := range opt.Contexts {
		for ; at < n; at += min(piece, n-at) {
			if _, err := s.step(at, min(piece, n-at), false); err != nil {
				return nil, err
			}
		}
		took := make([][]float64, len(opt.Rows))
		for range opt.Repetitions { // in turn, so that a drift of the machine meets all
			for i, rows := range opt.Rows {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				ms, err := s.step(at, rows, true)
				if err == nil {
					err = s.ctx.Remove(0, at, engine.All)
				}
				if err != nil {
					return nil, err
				}
				took[i] = append(took[i], ms)
			}
		}
		one := bench.Median(took[0]) / float64(opt.Rows[0])
		for i, rows := range opt.Rows {
			ms := bench.Median(took[i])
			all = append(all, RowCost{Context: n, Rows: rows, MS: ms, Won: one * float64(rows) / ms})
		}
	}
	return all, nil
}

// step computes rows from a position on and returns milliseconds.
func (s *stretch) step(at, rows int, outputs bool) (float64, error) {
	s.batch.Reset()
	for i := range rows {
		token := engine.Token(((at+i)*7919 + 17) % s.vocabulary)
		if err := s.batch.Add(token, at+i, 0, outputs); err != nil {
			return 0, err
		}
	}
	begin := time.Now()
	if err := s.ctx.Decode(s.batch); err != nil {
		return 0, err
	}
	return float64(time.Since(begin).Microseconds()) / 1000, nil
}
