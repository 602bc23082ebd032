package card

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dure/inference/bench"
	"dure/inference/engine"
)

// Kinds of bare measurements.
const (
	KindPrefill = "prefill"
	KindDecode  = "decode"
	KindShare   = "share"
	KindKV      = "kv"
)

// Load is a context that is filled: sequences of Context tokens, stepped with each
// number of Streams.
type Load struct {
	Context int
	Streams []int // rising
}

// StepOptions of a measurement of the bare engine.
type StepOptions struct {
	EngineDir, ModelPath string
	GPULayers            int
	Threads, Poll        int
	FlashAttention       engine.FlashAttention
	KeyType, ValueType   string
	MicroBatch           int
	Kind                 string   // one of those above
	Loads                []Load   // by rising Context
	Types                []string // of keys and values, for KindKV
	Repetitions          int
	// Done are keys of points that are not needed any more.
	Done []string
}

// Room is by how many tokens a sequence grows at most beyond the Context of a load.
func (o StepOptions) Room() int {
	room := o.MicroBatch + 1
	for _, l := range o.Loads {
		room = max(room, tries*(o.Repetitions+1)*len(l.Streams)+1)
	}
	return room
}

// Emit takes a point, or a remark, as soon as it is there.
type Emit func(Point, string) error

// Steps loads the model and measures one kind. It wants a process of its own.
func Steps(ctx context.Context, opt StepOptions, emit Emit) error {
	if opt.Repetitions < 1 || opt.MicroBatch < 1 {
		return fmt.Errorf("steps: %d repetitions, micro batch %d: must be positive", opt.Repetitions, opt.MicroBatch)
	}
	measure, ok := map[string]func(*stepper, context.Context) error{
		KindPrefill: (*stepper).prefill, KindDecode: (*stepper).decode, KindShare: (*stepper).share, KindKV: (*stepper).kv,
	}[opt.Kind]
	if !ok {
		return fmt.Errorf("steps: kind %q is not known", opt.Kind)
	}
	return bench.WithModel(ctx, opt.EngineDir, opt.ModelPath, opt.GPULayers, func(model *engine.Model) error {
		return measure(&stepper{opt: opt, model: model, emit: emit}, ctx)
	})
}

// PointOf is the median of samples.
func PointOf(figure, series string, x float64, tokens int, samples ...float64) Point {
	return Point{Figure: figure, Series: series, X: x, Value: bench.Median(samples),
		Low: slices.Min(samples), High: slices.Max(samples), Samples: len(samples), Tokens: tokens}
}

// StepAt is the key of a decode step of so many streams, each of a sequence of so many
// tokens: a Point without figures.
func StepAt(tokens, streams int) Point {
	return Point{Figure: FigureStep, Series: series(tokens), X: float64(streams), Tokens: tokens}
}

type stepper struct {
	opt   StepOptions
	model *engine.Model
	emit  Emit
}

// marked emits points with the part of their time that others had.
func (s *stepper) marked(disturbed float64, all ...Point) error {
	for _, p := range all {
		if disturbed > MostDisturbed {
			p.Disturbed = disturbed
		}
		if err := s.emit(p, ""); err != nil {
			return err
		}
	}
	return nil
}

// tries is how often something short is measured where other programs disturb it;
// what takes longer than short is not.
const (
	tries = 3
	short = 5 * time.Second
)

// calmly takes samples, again where they were disturbed, and returns those that were
// disturbed the least.
func (f *filled) calmly(take func() ([]float64, error)) (samples []float64, disturbed float64, err error) {
	for range tries {
		begin := time.Now()
		f.disturbed() // from here on
		got, err := take()
		if err != nil {
			return nil, 0, err
		}
		if part := f.disturbed(); samples == nil || part < disturbed {
			samples, disturbed = got, part
		}
		if disturbed <= MostDisturbed || time.Since(begin) > short {
			break
		}
	}
	return samples, disturbed, nil
}

// missing reports whether one of these is still to be measured.
func (s *stepper) missing(points ...Point) bool {
	return slices.ContainsFunc(points, func(p Point) bool { return !slices.Contains(s.opt.Done, p.Key()) })
}

// filled is a context with sequences of fixed tokens.
type filled struct {
	ctx        *engine.Context
	batch      *engine.Batch
	vocabulary int
	piece      int // tokens of a call
	threads    int
	// When disturbed was called last, and what the threads had waited then.
	looked time.Time
	waited time.Duration
}

// open makes a context of sequences that each have room for so many tokens.
func (s *stepper) open(each, sequences int, unified bool, key, value string) (*filled, error) {
	batch := max(s.opt.MicroBatch, sequences)
	c, err := s.model.NewContext(engine.ContextOptions{
		Cells: each * sequences, Sequences: sequences, Batch: batch, MicroBatch: batch, Outputs: sequences,
		Threads: s.opt.Threads, Poll: s.opt.Poll, FlashAttention: s.opt.FlashAttention, Unified: unified, KeyType: key, ValueType: value,
	})
	if err != nil {
		return nil, err
	}
	f := &filled{ctx: c, batch: c.NewBatch(), vocabulary: s.model.Facts().Vocabulary, piece: s.opt.MicroBatch, threads: s.opt.Threads}
	f.disturbed() // from here on
	return f, nil
}

func (f *filled) close() error { return errors.Join(f.batch.Close(), f.ctx.Close()) }

// disturbed is the part of the time since the last call for which the context's threads
// waited for a core that other programs had.
func (f *filled) disturbed() float64 {
	now, waited := time.Now(), f.ctx.Waited()
	part := (waited - f.waited).Seconds() / (now.Sub(f.looked).Seconds() * float64(max(1, f.threads)))
	f.looked, f.waited = now, waited
	return min(max(part, 0), 1)
}

func (f *filled) token(i int) engine.Token { return engine.Token((i*7919 + 17) % f.vocabulary) }

// read computes n tokens of a sequence from a position on, and returns what it took
// in milliseconds. The last row has an output: the engine then waits for the device.
func (f *filled) read(seq, at, n int) (float64, error) {
	f.batch.Reset()
	for i := range n {
		if err := f.batch.Add(f.token(at+i), at+i, seq, i == n-1); err != nil {
			return 0, err
		}
	}
	begin := time.Now()
	if err := f.ctx.Decode(f.batch); err != nil {
		return 0, fmt.Errorf("read %d tokens from %d on: %w", n, at, err)
	}
	return since(begin), nil
}

// fill reads a sequence from one position to another.
func (f *filled) fill(ctx context.Context, seq, from, to int) (ms float64, err error) {
	for at := from; at < to; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n := min(f.piece, to-at)
		took, err := f.read(seq, at, n)
		if err != nil {
			return 0, err
		}
		ms, at = ms+took, at+n
	}
	return ms, nil
}

// step computes the next token of the first n sequences.
func (f *filled) step(n int) (float64, error) {
	f.batch.Reset()
	for seq := range n {
		end, err := f.ctx.End(seq)
		if err != nil {
			return 0, err
		}
		if err := f.batch.Add(f.token(seq+end), end, seq, true); err != nil {
			return 0, err
		}
	}
	begin := time.Now()
	if err := f.ctx.Decode(f.batch); err != nil {
		return 0, fmt.Errorf("step of %d: %w", n, err)
	}
	return since(begin), nil
}

// steps are some of them after one that warms up.
func (f *filled) steps(ctx context.Context, n, times int) (ms []float64, err error) {
	for i := range times + 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		took, err := f.step(n)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			ms = append(ms, took)
		}
	}
	return ms, nil
}

func since(begin time.Time) float64 { return float64(time.Since(begin).Nanoseconds()) / 1e6 }

// empty takes all of a sequence away.
func (f *filled) empty(seq int) error { return f.ctx.Remove(seq, engine.All, engine.All) }

func series(tokens int) string { return fmt.Sprintf("%d tokens", tokens) }
