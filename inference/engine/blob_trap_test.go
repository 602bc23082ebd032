package engine_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/kvcache/blob"
)

// What the engine does with states, for better or worse. Each of these is a
// reason for a check above it.

func plain(t *testing.T, change func(*engine.ContextOptions)) *rig {
	t.Helper()
	path := enginetest.Llama(t, synth.Config{})
	opt := engine.ContextOptions{Cells: 1024, Sequences: 4, Batch: 64, MicroBatch: 64, Outputs: 4, Threads: 2, FlashAttention: engine.FlashOff}
	if change != nil {
		change(&opt)
	}
	return newRig(t, enginetest.Load(t, path), path, opt)
}

func (r *rig) ends(seq, want int) {
	r.t.Helper()
	if end, err := r.c.End(seq); err != nil || end != want {
		r.t.Errorf("sequence %d ends at %d, %v; want %d", seq, end, err, want)
	}
}

func (r *rig) refuses(what string, seq int, data []byte) {
	r.t.Helper()
	if err := r.c.SetState(data, seq, engine.StateWhole); !errors.Is(err, engine.ErrState) {
		r.t.Errorf("%s: %v", what, err)
	}
}

// The engine leaves a refused state's sequence empty, or even filled where the
// fault is behind the rows: SetState removes what is left. No other sequence is
// touched.
func TestTrapRefusedState(t *testing.T) {
	r := plain(t, nil)
	r.feed(0, 0, text(20, 1)...)
	data := r.bytes(0, blob.Whole)
	const streams = 3 * 4 // the counts of the other streams, which are empty
	for _, cut := range []int{1, streams, streams + 1, len(data) / 2} {
		r.feed(1, 0, text(9, 2)...)
		r.refuses("cut short", 1, data[:len(data)-cut])
		r.ends(1, 0)
		r.ends(0, 20)
		if _, err := blob.Parse(r.layout, data[:len(data)-cut], blob.Whole); !errors.Is(err, blob.ErrTruncated) {
			t.Errorf("the parser: %v", err)
		}
		r.clear(1)
	}
}

// Of a hybrid state that is cut short the engine keeps the attention half; after
// SetState the sequence is empty, and usable.
func TestTrapHalfARestoredHybrid(t *testing.T) {
	s := subject{path: written(t, synth.Qwen35, synth.Config{}), tokens: 20, at: 12, flash: engine.FlashOff, unified: true}
	r := s.rig(t)
	tokens := text(20, 1)
	want, state := r.cold(tokens, 12, 77)
	data := state.Append(nil, blob.Whole)
	if _, err := blob.Parse(r.layout, data[:len(data)-100], blob.Whole); !errors.Is(err, blob.ErrTruncated) {
		t.Errorf("the parser: %v", err)
	}
	r.refuses("cut short", 0, data[:len(data)-100])
	r.ends(0, 0)
	r.set(0, state, blob.Whole)
	r.same("after the removal", want, r.feed(0, 20, 77))
}

// Bytes to spare are ignored by the engine, so that its return value hides them.
func TestTrapTrailingBytes(t *testing.T) {
	r := plain(t, nil)
	r.feed(0, 0, text(5, 1)...)
	data := append(r.bytes(0, blob.Whole), 1, 2, 3)
	if err := r.c.SetState(data, 1, engine.StateWhole); err != nil {
		t.Errorf("the engine has learnt to refuse: %v", err)
	}
	if _, err := blob.Parse(r.layout, data, blob.Whole); !errors.Is(err, blob.ErrMalformed) {
		t.Errorf("the parser: %v", err)
	}
}

// States do not fit a context with another number of streams until their header
// is rewritten, nor one with the other order of values.
func TestTrapOtherContext(t *testing.T) {
	split, unified := plain(t, nil), plain(t, func(o *engine.ContextOptions) { o.Unified = true })
	flash := plain(t, func(o *engine.ContextOptions) { o.FlashAttention = engine.FlashOn })
	tokens := text(30, 1)
	want, state := split.cold(tokens, 20, 77)
	data := state.Append(nil, blob.Whole)
	unified.refuses("another number of streams", 0, data)
	flash.refuses("values in the other order", 0, data)
	for _, other := range []*rig{unified, flash} {
		if _, err := blob.Parse(other.layout, data, blob.Whole); !errors.Is(err, blob.ErrLayout) {
			t.Errorf("the parser: %v", err)
		}
	}
	if _, err := blob.Join(flash.layout, state); !errors.Is(err, blob.ErrLayout) {
		t.Errorf("join: %v", err)
	}
	unified.set(3, unified.join(state), blob.Whole)
	unified.same("moved to a unified pool", want, unified.feed(3, 30, 77))
}

// Positions are believed: twice, or missing, they change the answer unnoticed.
func TestTrapPositionsAreBelieved(t *testing.T) {
	r := plain(t, nil)
	r.feed(0, 0, text(12, 1)...)
	good := r.bytes(0, blob.Whole)
	const table, size = 16, 12 // of sequence 0: envelope, streams, cells
	data := append([]byte(nil), good...)
	binary.LittleEndian.PutUint32(data[table+5*size:], 4) // position 4 twice, 5 nowhere
	if err := r.c.SetState(data, 1, engine.StateWhole); err != nil {
		t.Errorf("the engine has learnt to refuse: %v", err)
	}
	b, err := blob.Parse(r.layout, data, blob.Whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Complete(); !errors.Is(err, blob.ErrPositions) {
		t.Errorf("the parser: %v", err)
	}
	binary.LittleEndian.PutUint32(data[table+5*size:], 1<<31) // below 0
	if _, err := blob.Parse(r.layout, data, blob.Whole); !errors.Is(err, blob.ErrMalformed) {
		t.Errorf("a negative position: %v", err)
	}
}

// The engine does not know whose state it is: another model of the same shape
// takes it. Only who keeps states can tell.
func TestTrapAnotherModelOfTheSameShape(t *testing.T) {
	r := plain(t, nil)
	want, state := r.cold(text(12, 1), 6, 77)
	path := enginetest.Llama(t, synth.Config{Seed: 9})
	other := newRig(t, enginetest.Load(t, path), path, r.c.Options())
	if !other.layout.Same(r.layout) {
		t.Fatal("the shapes differ")
	}
	other.set(0, state, blob.Whole)
	if d := maxDiff(want, other.feed(0, 12, 77)); d < 1e-2 {
		t.Errorf("another model gives the same answer, to %g", d)
	}
}

// The next token must follow the last cell: a state without it is of a shorter
// sequence. Gaps below are not noticed.
func TestTrapTheLastCellCounts(t *testing.T) {
	r := plain(t, nil)
	r.feed(0, 0, text(12, 1)...)
	b := r.get(0, blob.Whole)
	r.set(1, r.rows(b, 0, 11), blob.Whole)
	if err := decode(t, r.c, row{77, 12, 1, true}); err == nil {
		t.Error("a token was decoded behind a missing one")
	}
	r.feed(1, 11, 77)
	r.set(2, r.rows(b, 6, 12), blob.Whole) // a tail: taken without its trunk
	r.feed(2, 12, 77)
	if err := r.rows(b, 6, 12).Complete(); !errors.Is(err, blob.ErrPositions) {
		t.Errorf("a tail is complete: %v", err)
	}
}

// Partial means nothing to a plain model.
func TestTrapPartialOfAPlainModel(t *testing.T) {
	r := plain(t, nil)
	r.feed(0, 0, text(12, 1)...)
	if whole, partial := r.bytes(0, blob.Whole), r.bytes(0, blob.Partial); string(whole) != string(partial) {
		t.Errorf("%d bytes whole, %d partial", len(whole), len(partial))
	}
	if r.layout.HasState() || r.layout.StateBytes() != 0 {
		t.Error("a plain model has no state")
	}
}

// A state needs cells that are free; where there are too few nothing else is
// harmed.
func TestTrapFullPool(t *testing.T) {
	r := plain(t, func(o *engine.ContextOptions) { o.Cells, o.Unified = 256, true })
	r.feed(0, 0, text(150, 1)...)
	r.refuses("150 cells where 106 are free", 1, r.bytes(0, blob.Whole))
	r.ends(1, 0)
	r.ends(0, 150)
	b := r.get(0, blob.Whole)
	r.set(1, r.join(r.rows(b, 100, 150)), blob.Whole)
	r.ends(1, 150)
}

// A state has the cells of the window only, also where the context keeps all of
// them. A sequence that was restored cannot be forked further back without the
// window of that place, and the engine does not say so.
func TestTrapRestoredWindow(t *testing.T) {
	s := subject{path: written(t, synth.Gemma3, synth.Config{}), tokens: 192, at: 128, flash: engine.FlashOff, unified: true}
	r := s.rig(t)
	a, _ := r.prompts(s)
	want, early := r.cold(a[:96], 64, 77)
	_, state := r.cold(a, 96, 77)
	r.set(0, state, blob.Whole)
	if err := r.c.Copy(0, 1, 0, 96); err != nil {
		t.Fatal(err)
	}
	if d := maxDiff(want, r.feed(1, 96, 77)); d < 1e-2 {
		t.Errorf("the window is there after all: %g", d)
	}
	if _, err := state.Prefix(96); !errors.Is(err, blob.ErrState) {
		t.Errorf("the parser: %v", err)
	}
	r.clear(1)
	if err := r.c.Copy(0, 1, 0, 96); err != nil {
		t.Fatal(err)
	}
	r.set(1, early.State(), blob.Partial)
	r.same("with the window of that place", want, r.feed(1, 96, 77))
}

// Rows without the recurrent part are taken; what follows is another sequence.
func TestTrapRowsWithoutTheirState(t *testing.T) {
	s := subject{path: written(t, synth.Qwen35, synth.Config{}), tokens: 20, at: 12, flash: engine.FlashOff, unified: true}
	r := s.rig(t)
	want, state := r.cold(text(20, 1), 12, 77)
	rows := r.rows(state, 0, 20)
	if err := rows.Complete(); !errors.Is(err, blob.ErrState) {
		t.Errorf("the parser: %v", err)
	}
	r.set(0, rows, blob.Whole)
	r.set(0, state.State(), blob.Partial)
	r.ends(0, 20)
	r.same("rows first, then the state", want, r.feed(0, 20, 77))
}
