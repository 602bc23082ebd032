package blob

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrUnproven is wrapped by the reason of every verdict that is opaque.
var ErrUnproven = errors.New("the engine's states are not what the parser thinks")

// Probe proves, on the context it is given, that a layout is what the engine
// writes and reads: once for every context that is opened, because neither the
// bytes nor their version say so. It costs the decoding of Tokens, once.
type Probe struct {
	// Layout as derived. Whether cells have extra fields and values are
	// transposed is found out: the engine decides the latter by itself where
	// flash attention is left to it.
	Layout Layout
	// Tokens to decode, at least 4, different ones.
	Tokens []int32
	// From and To are two empty sequences. They are empty again afterwards.
	From, To int
	// Decode computes tokens as positions at, at+1, ... of a sequence.
	Decode func(seq int, tokens []int32, at int) error
	// Get and Set move the state of a sequence; Set replaces what is there.
	Get func(seq int, part Part) ([]byte, error)
	Set func(seq int, data []byte, part Part) error
	// Clear empties a sequence.
	Clear func(seq int) error
}

// Verdict is what a probe found: a proven layout, or that states must be kept
// as they are, uncut.
type Verdict struct {
	// Layout is that of the context, proven, if Reason is nil.
	Layout Layout
	// Reason why states are opaque. It wraps ErrUnproven, or is what Decode,
	// Get, Set or Clear failed with.
	Reason error
}

// Opaque: states cannot be cut or joined.
func (v Verdict) Opaque() bool { return v.Reason != nil }

// Run decodes a part of the tokens and then the rest, and reads the state each
// time. The layout is proven when exactly one candidate accounts for every byte
// of both; positions and tokens are those that were fed; the rows of the first
// part are found unchanged in the second, which a wrong order or stride of rows
// would not give; and states that were cut and joined again are read back from
// another sequence as they were set.
func (p Probe) Run() (v Verdict) {
	defer func() {
		if err := errors.Join(p.Clear(p.From), p.Clear(p.To)); err != nil {
			v = Verdict{Reason: errors.Join(v.Reason, fmt.Errorf("clear the sequences of the probe: %w", err))}
		}
	}()
	if len(p.Tokens) < 4 || p.From == p.To {
		return Verdict{Reason: fmt.Errorf("%w: a probe needs 4 tokens and 2 sequences, has %d tokens, sequences %d and %d",
			ErrUnproven, len(p.Tokens), p.From, p.To)}
	}
	half := len(p.Tokens) / 2
	var states [2]probed
	for i, span := range [2][2]int{{0, half}, {half, len(p.Tokens)}} {
		if err := p.Decode(p.From, p.Tokens[span[0]:span[1]], span[0]); err != nil {
			return Verdict{Reason: fmt.Errorf("decode for the probe: %w", err)}
		}
		var err error
		if states[i], err = p.read(p.From); err != nil {
			return Verdict{Reason: err}
		}
	}
	l, first, second, err := p.fit(states[0].whole, states[1].whole)
	if err != nil {
		return Verdict{Reason: err}
	}
	for _, check := range []func() error{
		func() error { return p.checkCells(first, half) },
		func() error { return p.checkCells(second, len(p.Tokens)) },
		func() error { return checkRows(first, second, half) },
		func() error { return checkPartial(l, second, states[1].partial) },
		func() error { return p.checkMove(l, first, second, half) },
	} {
		if err := check(); err != nil {
			return Verdict{Reason: err}
		}
	}
	return Verdict{Layout: l}
}

type probed struct{ whole, partial []byte }

func (p Probe) read(seq int) (out probed, err error) {
	if out.whole, err = p.Get(seq, Whole); err == nil {
		out.partial, err = p.Get(seq, Partial)
	}
	if err != nil {
		return out, fmt.Errorf("read a state for the probe: %w", err)
	}
	return out, nil
}

// fit finds the one candidate that both states fit.
func (p Probe) fit(short, long []byte) (l Layout, first, second *Blob, err error) {
	var refused []error
	for _, candidate := range candidates(p.Layout) {
		a, errA := Parse(candidate, short, Whole)
		b, errB := Parse(candidate, long, Whole)
		switch {
		case errA != nil || errB != nil:
			refused = append(refused, errors.Join(errA, errB))
		case first != nil:
			return l, nil, nil, fmt.Errorf("%w: two layouts fit the same bytes", ErrUnproven)
		default:
			l, first, second = candidate, a, b
		}
	}
	if first == nil {
		return l, nil, nil, fmt.Errorf("%w: %w", ErrUnproven, refused[0]) // of the layout as derived
	}
	return l, first, second, nil
}

// candidates are the layouts that a context may have, the derived one first.
func candidates(l Layout) []Layout {
	out := []Layout{l}
	if len(l.Pools) == 0 {
		return out
	}
	for _, extra := range []int{0, 2, 3} {
		for _, transposed := range []bool{false, true} {
			if extra == l.Pools[0].Extra && transposed == l.Pools[0].Transposed {
				continue
			}
			c := l
			c.Pools = append([]Pool(nil), l.Pools...)
			for i := range c.Pools {
				c.Pools[i].Extra, c.Pools[i].Transposed = extra, transposed
			}
			if c.Validate() == nil { // transposed values have no blocks
				out = append(out, c)
			}
		}
	}
	return out
}

// checkCells compares what the table says with what was fed.
func (p Probe) checkCells(b *Blob, n int) error {
	if int(b.Seq) != p.From {
		return fmt.Errorf("%w: state of sequence %d says %d", ErrUnproven, p.From, b.Seq)
	}
	if end := b.End(); end != n {
		return fmt.Errorf("%w: state of %d tokens ends at %d", ErrUnproven, n, end)
	}
	if err := b.Complete(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	for i, pool := range b.layout.Pools {
		for _, c := range b.All(i) {
			if pool.Extra == 3 && c.Token != p.Tokens[c.Pos] {
				return fmt.Errorf("%w: cell of token %d says %d", ErrUnproven, p.Tokens[c.Pos], c.Token)
			}
			if pool.Extra > 0 && (c.X != c.Pos || c.Y != c.Pos) {
				return fmt.Errorf("%w: cell of position %d says (%d, %d)", ErrUnproven, c.Pos, c.X, c.Y)
			}
		}
	}
	return nil
}

// checkRows: the rows of the first n positions must not have changed.
func checkRows(first, second *Blob, n int) error {
	a, errA := first.Rows(0, n)
	b, errB := second.Rows(0, n)
	if err := errors.Join(errA, errB); err != nil {
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	if !bytes.Equal(a.Append(nil, Whole), b.Append(nil, Whole)) {
		return fmt.Errorf("%w: rows change when the sequence goes on", ErrUnproven)
	}
	return nil
}

// checkPartial: what the engine gives as partial must be the state of the whole.
func checkPartial(l Layout, b *Blob, partial []byte) error {
	got, err := Parse(l, partial, Partial)
	if err != nil {
		return fmt.Errorf("%w: partial: %w", ErrUnproven, err)
	}
	if l.HasState() && !bytes.Equal(got.State().Append(nil, Partial), b.State().Append(nil, Partial)) {
		return fmt.Errorf("%w: the partial state is not that of the whole", ErrUnproven)
	}
	return nil
}

// checkMove cuts the second state in two, joins it, sets it into the other
// sequence and reads it back; then the first, as a sequence that was cut.
func (p Probe) checkMove(l Layout, first, second *Blob, half int) error {
	trunk, errA := second.Rows(0, half)
	tail, errB := second.Rows(half, len(p.Tokens))
	if err := errors.Join(errA, errB); err != nil {
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	whole, errA := Join(l, trunk, tail, second.State())
	short, errB := Join(l, trunk, first.State())
	if err := errors.Join(errA, errB); err != nil {
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	for _, b := range []*Blob{whole, short} {
		want := b.Append(nil, Whole)
		if err := p.Set(p.To, want, Whole); err != nil {
			return fmt.Errorf("set a joined state: %w", err)
		}
		state, err := p.read(p.To)
		if err != nil {
			return err
		}
		got, err := Parse(l, state.whole, Whole)
		if err != nil {
			return fmt.Errorf("%w: read back: %w", ErrUnproven, err)
		}
		if got, err = Join(l, got); err != nil {
			return fmt.Errorf("%w: read back: %w", ErrUnproven, err)
		}
		if !bytes.Equal(got.Append(nil, Whole), want) {
			return fmt.Errorf("%w: a joined state is read back differently", ErrUnproven)
		}
	}
	return nil
}
