package card

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dure/inference/engine"
)

// chunkSizes are pieces of a prompt as they are read beside streams; one of the micro
// batch is added.
var chunkSizes = []int{16, 32, 64, 128, 256}

// prefill reads one sequence on and on. At each length, pieces of other sizes are read
// on a copy, so that the sequence itself stays what it says.
func (s *stepper) prefill(ctx context.Context) (err error) {
	longest := 0
	for _, l := range s.opt.Loads {
		longest = max(longest, l.Context)
	}
	// A split pool copies whole sequences, which models with recurrent layers can too.
	f, err := s.open(longest+s.opt.Room(), 2, false, s.opt.KeyType, s.opt.ValueType)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if _, err := f.read(1, 0, min(64, s.opt.MicroBatch)); err != nil { // warms up
		return err
	}
	at, ms, disturbed := 0, 0.0, 0.0
	for _, l := range s.opt.Loads {
		if at == 0 {
			if err := s.chunks(ctx, f, 0); err != nil {
				return err
			}
		}
		took, err := f.fill(ctx, 0, at, l.Context)
		if err != nil {
			return err
		}
		at, ms = l.Context, ms+took
		disturbed = max(disturbed, f.disturbed()) // on the way up to here
		if err := s.marked(disturbed, PointOf(FigurePrefill, "from nothing", float64(at), at, float64(at)*1000/ms)); err != nil {
			return err
		}
		if err := s.chunks(ctx, f, at); err != nil {
			return err
		}
	}
	return nil
}

// chunks times pieces behind so many tokens of sequence 0.
func (s *stepper) chunks(ctx context.Context, f *filled, at int) error {
	sizes := chunkSizes
	if last := sizes[len(sizes)-1]; s.opt.MicroBatch > last {
		sizes = append(append([]int{}, sizes...), s.opt.MicroBatch)
	}
	for _, n := range sizes {
		if n > s.opt.MicroBatch || !s.missing(Point{Figure: FigureChunk, Series: series(n), X: float64(at)}) {
			continue
		}
		samples, disturbed, err := f.calmly(func() ([]float64, error) { return f.pieces(ctx, at, n, min(3, s.opt.Repetitions)) })
		if err != nil {
			return err
		}
		if err := s.marked(disturbed, PointOf(FigureChunk, series(n), float64(at), n, samples...)); err != nil {
			return err
		}
	}
	return f.empty(1)
}

// pieces reads n tokens behind so many of sequence 0, a few times.
func (f *filled) pieces(ctx context.Context, at, n, times int) (samples []float64, err error) {
	for range times {
		end, err := f.again(ctx, at)
		if err != nil {
			return nil, err
		}
		took, err := f.read(1, end, n)
		if err != nil {
			return nil, err
		}
		samples = append(samples, took)
	}
	return samples, nil
}

// again makes sequence 1 a copy of sequence 0, which holds so many tokens, and returns
// its end. The engine copies with the next call, which is not to be timed: one more
// token is read.
func (f *filled) again(ctx context.Context, at int) (int, error) {
	if err := errors.Join(ctx.Err(), f.empty(1)); err != nil || at == 0 {
		return 0, err
	}
	if err := f.ctx.Copy(0, 1, engine.All, engine.All); err != nil {
		return 0, err
	}
	_, err := f.read(1, at, 1)
	return at + 1, err
}

// decode fills one sequence and copies it to the others, so that even long contexts
// of many streams are there soon.
func (s *stepper) decode(ctx context.Context) error {
	for _, l := range s.opt.Loads {
		var points []Point
		for _, n := range l.Streams {
			points = append(points, StepAt(l.Context, n), Point{Figure: FigureDecode, Series: series(l.Context), X: float64(n)})
		}
		if len(l.Streams) == 0 || !s.missing(points...) {
			continue
		}
		err := s.stepped(ctx, l, s.opt.KeyType, s.opt.ValueType, func(n int, ms []float64, disturbed float64) error {
			rates := make([]float64, len(ms))
			for i, v := range ms {
				rates[i] = float64(n) * 1000 / v
			}
			return s.marked(disturbed, PointOf(FigureStep, series(l.Context), float64(n), l.Context, ms...),
				PointOf(FigureDecode, series(l.Context), float64(n), l.Context, rates...))
		}, nil)
		if err != nil {
			return fmt.Errorf("%d tokens: %w", l.Context, err)
		}
	}
	return nil
}

// stepped times steps of each number of streams of a load. look sees the context when
// it is filled; it may be nil.
func (s *stepper) stepped(ctx context.Context, l Load, key, value string, got func(n int, ms []float64, disturbed float64) error, look func(*filled) error) (err error) {
	most := l.Streams[len(l.Streams)-1]
	f, err := s.open(l.Context+s.opt.Room(), most, false, key, value)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if _, err := f.fill(ctx, 0, 0, l.Context); err != nil {
		return err
	}
	for seq := 1; seq < most; seq++ {
		if err := f.ctx.Copy(0, seq, engine.All, engine.All); err != nil {
			return err
		}
	}
	if look != nil {
		if err := look(f); err != nil {
			return err
		}
	}
	for _, n := range l.Streams {
		ms, disturbed, err := f.calmly(func() ([]float64, error) { return f.steps(ctx, n, s.opt.Repetitions) })
		if err != nil {
			return err
		}
		if err := got(n, ms, disturbed); err != nil {
			return err
		}
	}
	return nil
}

// share times a second sequence that takes over what a first one has read.
func (s *stepper) share(ctx context.Context) error {
	for _, l := range s.opt.Loads {
		for _, unified := range []bool{true, false} {
			name := "shared, a pool for each"
			if unified {
				name = "shared, one pool for all"
			}
			if !s.missing(Point{Figure: FigureShare, Series: name, X: float64(l.Context)}, Point{Figure: FigureShare, Series: SeriesAgain, X: float64(l.Context)}) {
				continue
			}
			if err := s.shared(ctx, l.Context, unified, name); err != nil {
				return fmt.Errorf("%s, %d tokens: %w", name, l.Context, err)
			}
		}
	}
	return nil
}

func (s *stepper) shared(ctx context.Context, tokens int, unified bool, name string) (err error) {
	f, err := s.open(tokens+s.opt.Room(), 2, unified, s.opt.KeyType, s.opt.ValueType)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	cold, err := f.fill(ctx, 0, 0, tokens)
	if err != nil {
		return err
	}
	if err := s.marked(f.disturbed(), PointOf(FigureShare, SeriesAgain, float64(tokens), tokens, cold)); err != nil {
		return err
	}
	samples, disturbed, err := f.calmly(func() ([]float64, error) { return f.forks(ctx, s.opt.Repetitions) })
	if err != nil {
		return err
	}
	return s.marked(disturbed, PointOf(FigureShare, name, float64(tokens), tokens, samples...))
}

// forks are some of them after one that warms up.
func (f *filled) forks(ctx context.Context, times int) (samples []float64, err error) {
	for i := range times + 1 {
		if err := errors.Join(ctx.Err(), f.empty(1)); err != nil {
			return nil, err
		}
		from, err := f.ctx.End(0)
		if err != nil {
			return nil, err
		}
		ms, err := f.fork(from)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			samples = append(samples, ms)
		}
	}
	return samples, nil
}

// fork copies sequence 0 and computes one token of the copy.
func (f *filled) fork(at int) (float64, error) {
	begin := time.Now()
	if err := f.ctx.Copy(0, 1, engine.All, engine.All); err != nil {
		return 0, err
	}
	if _, err := f.read(1, at, 1); err != nil {
		return 0, err
	}
	return since(begin), nil
}

// kv compares types of the cache on the same load.
func (s *stepper) kv(ctx context.Context) error {
	for _, l := range s.opt.Loads {
		for _, t := range s.opt.Types {
			name := fmt.Sprintf("%s, %d tokens", t, l.Context)
			points := []Point{{Figure: FigureKVBytes, Series: fmt.Sprintf("%s, %d streams of %d tokens", t, l.Streams[len(l.Streams)-1], l.Context)}}
			for _, n := range l.Streams {
				points = append(points, Point{Figure: FigureKVSpeed, Series: name, X: float64(n)})
			}
			if !s.missing(points...) {
				continue
			}
			err := s.stepped(ctx, l, t, t, func(n int, ms []float64, disturbed float64) error {
				return s.marked(disturbed, PointOf(FigureKVSpeed, name, float64(n), l.Context, ms...))
			}, func(f *filled) error {
				b, err := f.ctx.Breakdown()
				if err != nil {
					return err
				}
				var cache uint64
				for _, buffer := range b.Buffers {
					cache += buffer.Cache
				}
				return s.marked(0, PointOf(FigureKVBytes, points[0].Series, 0, l.Context, float64(cache)/(1<<20)))
			})
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil: // the engine may not have this type for this model: the others count
				if err := s.emit(Point{}, fmt.Sprintf("cache of %s: %v", t, err)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
