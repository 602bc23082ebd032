package kv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dure/inference/engine"
)

const (
	// readRows of a context are computed at once; scoreRows of what follows, fewer than
	// the 64 from which on another path is taken (see the package comment).
	readRows  = 512
	scoreRows = 32
	// cellPad is what a context may have beyond what is asked for.
	cellPad = 256
)

// rig is the engine as the measurement uses it.
type rig struct {
	model   *engine.Model
	options engine.ContextOptions
	full    *line // the f16 cache
	bos     []engine.Token
}

// line is one sequence in a context of its own.
type line struct {
	c     *engine.Context
	batch *engine.Batch
	rows  int // of a context that are computed at once
	end   int // tokens that it holds
}

func newRig(m *engine.Model, cells, threads, poll int) (*rig, error) {
	r := &rig{model: m, options: engine.ContextOptions{
		Cells: cells + cellPad, Sequences: 1, Batch: readRows, MicroBatch: readRows, Outputs: scoreRows,
		Threads: threads, Poll: poll, FlashAttention: engine.FlashOn,
	}}
	if f := m.Facts(); f.AddBOS && f.BOS >= 0 {
		r.bos = []engine.Token{f.BOS}
	}
	c, err := m.NewContext(r.options)
	if err != nil {
		return nil, err
	}
	r.full = &line{c: c, batch: c.NewBatch(), rows: readRows}
	return r, nil
}

func (r *rig) close() error { return r.full.close() }

// open makes the context of a hot setting, which computes with the threads of the full
// one.
func (r *rig) open(s Setting) (*line, error) {
	opt := r.options
	opt.KeyType, opt.ValueType = strings.ToLower(s.Keys.String()), strings.ToLower(s.Values.String())
	c, err := r.model.NewContextBeside(r.full.c, opt)
	if err != nil {
		return nil, err
	}
	l := &line{c: c, batch: c.NewBatch(), rows: readRows}
	if s.Read > 0 {
		l.rows = min(s.Read, readRows)
	}
	return l, nil
}

// tokens of a text; open ones begin it as the model wants it.
func (r *rig) tokens(ctx context.Context, text string, open bool) ([]engine.Token, error) {
	all, err := r.model.Tokenize(ctx, text, false, false)
	if err != nil {
		return nil, fmt.Errorf("tokens of a text: %w", err)
	}
	if open {
		all = append(append([]engine.Token{}, r.bos...), all...)
	}
	return all, nil
}

func (l *line) close() error { return errors.Join(l.batch.Close(), l.c.Close()) }

// clear empties the sequence.
func (l *line) clear() error {
	l.end = 0
	return l.c.Remove(0, engine.All, engine.All)
}

// state of the sequence.
func (l *line) state() ([]byte, error) { return l.c.State(nil, 0, engine.StateWhole) }

// set puts a state of so many tokens into the empty context.
func (l *line) set(state []byte, end int) error {
	if err := l.clear(); err != nil {
		return err
	}
	if err := l.c.SetState(state, 0, engine.StateWhole); err != nil {
		return err
	}
	have, err := l.c.End(0)
	if err == nil && have != end {
		err = fmt.Errorf("the state that was set ends at %d, not at %d", have, end)
	}
	l.end = end
	return err
}

// rewind takes back all from a position on. Models that cannot get their state of there
// again.
func (l *line) rewind(to int, state []byte) error {
	if l.end == to {
		return nil
	}
	if l.c.Remove(0, to, engine.All) == nil {
		l.end = to
		return nil
	}
	return l.set(state, to)
}

// read computes tokens, many at once, without logits.
func (l *line) read(ctx context.Context, tokens []engine.Token) error {
	for len(tokens) > 0 {
		n := min(l.rows, len(tokens))
		if err := l.step(ctx, tokens[:n], nil); err != nil {
			return err
		}
		tokens = tokens[n:]
	}
	return nil
}

// score computes tokens, few at once, and shows the logits behind each of those from
// index from on.
func (l *line) score(ctx context.Context, tokens []engine.Token, from int, show func(i int, logits []float32)) error {
	return l.scoreRows(ctx, tokens, from, func(first int, rows [][]float32) {
		for i, logits := range rows {
			show(first+i, logits)
		}
	})
}

// scoreRows shows the logits of tokens [first, first+len(rows)) together; they are
// borrowed until it returns.
func (l *line) scoreRows(ctx context.Context, tokens []engine.Token, from int, show func(first int, rows [][]float32)) error {
	for at := 0; at < len(tokens); at += scoreRows {
		part := tokens[at:min(at+scoreRows, len(tokens))]
		if err := l.step(ctx, part, func(i int) bool { return at+i >= from }); err != nil {
			return err
		}
		first := max(at, from)
		var rows [][]float32
		for i := first; i < at+len(part); i++ {
			logits, err := l.c.Logits(i - at)
			if err != nil {
				return err
			}
			rows = append(rows, logits)
		}
		show(first, rows)
	}
	return nil
}

func (l *line) step(ctx context.Context, tokens []engine.Token, wanted func(int) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.batch.Reset()
	for i, t := range tokens {
		if err := l.batch.Add(t, l.end+i, 0, wanted != nil && wanted(i)); err != nil {
			return err
		}
	}
	if err := l.c.Decode(l.batch); err != nil {
		return fmt.Errorf("tokens %d to %d of a sequence: %w", l.end, l.end+len(tokens), err)
	}
	l.end += len(tokens)
	return nil
}
