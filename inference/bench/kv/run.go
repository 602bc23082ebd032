package kv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dure/gguf"
	"dure/inference/engine"
	"dure/kvcache/blob"
)

// Options of a run. All counts are checked by Run.
type Options struct {
	// Geometry of the model's file.
	Geometry *gguf.Geometry
	Settings []Setting
	// Lengths of contexts in tokens, and Follow tokens read behind each. Texts of each
	// kind are measured, and Repeats pieces of each context repeated.
	Lengths []int
	Follow  int
	Kinds   []Kind
	Texts   int
	Repeats int
	// Tasks at TaskLengths, with so many documents of each; but for Needles and
	// ManyQuestions only at those up to RulerMost, where that is not 0: each document is
	// read anew for each hot setting.
	Tasks       []Task
	TaskLengths []int
	RulerMost   int
	Documents   int
	Seed        uint64
	// Threads computing on the CPU; Poll how eagerly idle ones spin, 0..100.
	Threads, Poll int
	// Time after which nothing more is begun; 0 for none.
	Time time.Duration
	// Past is what an earlier run with the same options measured, which may have had
	// fewer texts and documents; it is not measured again. Keep is given every unit that
	// is; an error ends the run. Both may be nil.
	Past []Done
	Keep func(Done) error
	// Tell is told what has been measured; may be nil.
	Tell func(line string)
}

// LongestQuestion is more than any question and its answer have in tokens.
const LongestQuestion = 320

const (
	// mostLength is beyond any model's context.
	mostLength = 1 << 22
	// calibrationSeed is of texts that are measured by nobody.
	calibrationSeed = 1 << 60
)

// Outcome is what was measured, in the order of work.
type Outcome struct {
	Samples []Sample `json:"samples"`
	Replies []Reply  `json:"replies"`
	// Units of work that were measured, of all that were asked for.
	Units int `json:"units"`
	Of    int `json:"of"`
}

// Run measures. The model must not be used by others meanwhile, and the caller has
// locked its goroutine to its thread. What was measured is returned with any error; a
// run whose time is over has none.
func Run(ctx context.Context, m *engine.Model, opt Options) (Outcome, error) {
	out := Outcome{}
	if err := opt.check(); err != nil {
		return out, err
	}
	r, err := newRig(m, opt.cells(), opt.Threads, opt.Poll)
	if err != nil {
		return out, err
	}
	defer r.close() // a context that cannot be freed is no reason to lose figures
	b := &bench{Options: opt, rig: r, out: &out, begun: time.Now()}
	if err := b.prepare(ctx); err != nil {
		return out, err
	}
	err = b.all(ctx)
	return out, err
}

// Calibration is the state, in cells of f16, of so many tokens of texts of all kinds
// that nobody measures: what a class is calibrated on. The conditions are those of Run.
func Calibration(ctx context.Context, m *engine.Model, opt Options, tokens int) ([]byte, error) {
	if tokens < 1 || tokens > mostLength {
		return nil, fmt.Errorf("calibrate on %d tokens, must be 1 to %d", tokens, mostLength)
	}
	r, err := newRig(m, tokens, opt.Threads, opt.Poll)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return (&bench{Options: opt, rig: r}).calibration(ctx, tokens)
}

// all measures the units that are not of an earlier run. Those that are count also
// when it ends early.
func (b *bench) all(ctx context.Context) (failed error) {
	past := map[string]Done{}
	for _, d := range b.Past {
		past[d.Unit] = d
	}
	units := b.units()
	b.out.Of = len(units)
	for _, u := range units {
		begun := time.Now()
		d, known := past[u.name]
		if !known {
			if failed != nil || b.late(u.work) {
				continue
			}
			if d, failed = b.measured(ctx, u); failed != nil {
				continue
			}
		}
		b.out.Samples, b.out.Replies = append(b.out.Samples, d.Samples...), append(b.out.Replies, d.Replies...)
		b.out.Units++
		if !known {
			b.spent, b.done = b.spent+time.Since(begun), b.done+u.work
			b.told(u, begun)
		}
	}
	return failed
}

// measured measures a unit and has it kept.
func (b *bench) measured(ctx context.Context, u unit) (Done, error) {
	d, err := b.measure(ctx, u)
	if err == nil && b.Keep != nil {
		err = b.Keep(d)
	}
	return d, err
}

func (o *Options) check() error {
	switch {
	case o.Geometry == nil || len(o.Geometry.Layers) == 0:
		return errors.New("the model's geometry is not known")
	case len(o.Settings) == 0:
		return errors.New("no settings to measure")
	case len(o.Lengths) > 0 && (o.Texts < 1 || len(o.Kinds) == 0 || o.Follow < 2 || o.Follow > 1<<14 || o.Repeats < 0 || o.Repeats > 100):
		return fmt.Errorf("needs a text, a kind, and 2 to %d tokens to follow, and at most 100 repeats", 1<<14)
	case len(o.TaskLengths) > 0 && (o.Documents < 1 || len(o.Tasks) == 0):
		return errors.New("needs a task and a document of it")
	case len(o.Lengths)+len(o.TaskLengths) == 0:
		return errors.New("no lengths to measure at")
	}
	for _, n := range slices.Concat(o.Lengths, o.TaskLengths) {
		if n < 16 || n > mostLength {
			return fmt.Errorf("length %d, must be 16 to %d tokens", n, mostLength)
		}
	}
	if !slices.IsSorted(o.Lengths) || len(slices.Compact(slices.Clone(o.Lengths))) != len(o.Lengths) {
		return fmt.Errorf("lengths %v must ascend", o.Lengths)
	}
	names := map[string]bool{}
	for _, s := range o.Settings {
		if names[s.Name] {
			return fmt.Errorf("setting %s is named twice", s.Name)
		}
		names[s.Name] = true
	}
	return nil
}

// cells that a context must have.
func (o *Options) cells() (n int) {
	for _, l := range o.Lengths {
		n = max(n, l+max(o.Follow, LongestQuestion))
	}
	for _, l := range o.TaskLengths {
		n = max(n, l+LongestQuestion)
	}
	return n
}

// prepare makes the parked settings ready.
func (b *bench) prepare(ctx context.Context) error {
	layout, err := blob.Of(b.Geometry, blob.Options{Keys: gguf.F16, Values: gguf.F16, Streams: 1})
	if err != nil {
		return err
	}
	ground := Ground{Geometry: b.Geometry, Layout: layout, State: func(tokens int) ([]byte, error) { return b.calibration(ctx, tokens) }}
	for _, s := range b.Settings {
		if s.Tier == Hot {
			b.hot = append(b.hot, s)
			continue
		}
		t, err := s.Make(ground)
		if err != nil {
			return fmt.Errorf("prepare class %s: %w", s.Name, err)
		}
		b.parked = append(b.parked, parked{s, t})
	}
	return nil
}

// calibration is the state of texts of all kinds, one after the other.
func (b *bench) calibration(ctx context.Context, tokens int) ([]byte, error) {
	most := b.options.Cells - cellPad
	if tokens = min(tokens, most); tokens < 1 {
		return nil, fmt.Errorf("a state of %d tokens", tokens)
	}
	var all []engine.Token
	for i, kind := range Kinds() {
		n := tokens/len(Kinds()) + 1
		part, err := b.fitted(ctx, n, i == 0, func(bytes int) string { return Text(kind, calibrationSeed+b.Seed, bytes) })
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	if err := b.full.clear(); err != nil {
		return nil, err
	}
	if err := b.full.read(ctx, all[:tokens]); err != nil {
		return nil, err
	}
	return b.full.state()
}
