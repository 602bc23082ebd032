package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/kvcache/blob"
)

// A sequence that was parsed, cut, joined and set goes on as one that was read
// anew: as a prefix, as a whole put together from pieces, and as a private tail
// on the shared rows of a sequence that has moved on.
func TestStatesCutAndJoined(t *testing.T) {
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			r := s.rig(t)
			a, b := r.prompts(s)
			k, n := s.at, s.tokens
			const next = 77
			// All are read in sequence 0 while the pool is empty, and in the same
			// chunks: what lies elsewhere or is read otherwise is rounded otherwise.
			wantK, _ := r.cold(a[:k], k, next)
			wantB, whole := r.cold(b, k, next)

			r.feed(0, 0, a[:k]...)
			checkpoint, own := r.get(0, blob.Partial), r.bytes(0, blob.Whole)
			r.feed(0, k, a[k:]...)
			moved := r.get(0, blob.Whole)
			r.checkSizes(whole, n)

			if s.unified {
				r.tail(whole, k, next, wantB)
			}
			r.clear(0)
			r.prefix(moved, checkpoint, k, next, wantK)
			r.again("prefix", own, k, next)
			r.pieces(moved, whole, k, next, wantB)
			r.again("pieces", whole.Append(nil, blob.Whole), n, next)
		})
	}
}

// checkSizes compares the formulas with the engine's bytes.
func (r *rig) checkSizes(b *blob.Blob, n int) {
	r.t.Helper()
	windowed := 0
	for i, p := range r.layout.Pools {
		if p.Window > 0 {
			windowed = min(n, p.Window)
			if b.Cells(i) != windowed {
				r.t.Errorf("%d cells of a window of %d", b.Cells(i), p.Window)
			}
		}
	}
	for _, part := range []blob.Part{blob.Whole, blob.Partial} {
		if part == blob.Partial && !r.layout.HasState() {
			continue
		}
		if got := r.layout.Size(part, n, windowed, true); got != b.Size(part) {
			r.t.Errorf("part %d: %d bytes, the formula says %d", part, b.Size(part), got)
		}
	}
}

func (r *rig) prefix(moved, checkpoint *blob.Blob, k int, next engine.Token, want []float32) {
	cut, err := moved.Prefix(k)
	if r.layout.HasState() {
		if !errors.Is(err, blob.ErrState) {
			r.t.Fatalf("a prefix without its state: %v", err)
		}
		cut = r.join(r.rows(moved, 0, k), checkpoint.State())
	} else if err != nil {
		r.t.Fatal(err)
	}
	if err := cut.Complete(); err != nil {
		r.t.Fatal(err)
	}
	r.set(2, cut, blob.Whole)
	if end, err := r.c.End(2); err != nil || end != k {
		r.t.Fatalf("sequence of %d tokens ends at %d, %v", k, end, err)
	}
	r.last = r.feed(2, k, next)
	r.same("prefix", want, r.last)
	r.clear(2)
}

// pieces takes the trunk from one sequence and the rest from another.
func (r *rig) pieces(moved, whole *blob.Blob, k int, next engine.Token, want []float32) {
	n := whole.End()
	again := r.join(r.rows(whole, 0, k), r.rows(whole, k, n), whole.State())
	canonical := r.join(whole)
	if !bytes.Equal(again.Append(nil, blob.Whole), canonical.Append(nil, blob.Whole)) {
		r.t.Fatal("the pieces do not join to the whole")
	}
	mixed := r.join(r.rows(moved, 0, k), r.rows(whole, k, n), whole.State())
	if err := mixed.Complete(); err != nil {
		r.t.Fatal(err)
	}
	r.set(2, mixed, blob.Whole)
	if back := r.join(r.get(2, blob.Whole)); !bytes.Equal(back.Append(nil, blob.Whole), mixed.Append(nil, blob.Whole)) {
		r.t.Error("not read back as it was set")
	}
	r.last = r.feed(2, n, next)
	r.same("pieces", want, r.last)
	r.clear(2)
}

// again sets the engine's own bytes into the same cells: what was cut and joined
// must not differ from them at all.
func (r *rig) again(what string, own []byte, at int, next engine.Token) {
	if err := r.c.SetState(own, 2, engine.StateWhole); err != nil {
		r.t.Fatal(err)
	}
	if d := maxDiff(r.last, r.feed(2, at, next)); d != 0 {
		r.t.Errorf("%s: logits differ by %g from those of the engine's own bytes", what, d)
	}
	r.clear(2)
}

// tail puts what is private to one sequence on the cells of sequence 0, which
// has moved on since, and must not change.
func (r *rig) tail(whole *blob.Blob, k int, next engine.Token, want []float32) {
	n := whole.End()
	before := r.bytes(0, blob.Whole)
	const scratch, to = 3, 2
	r.set(scratch, r.join(r.rows(whole, k, n), whole.State()), blob.Whole)
	for _, step := range [][3]int{{0, 0, k}, {scratch, k, n}} {
		if err := r.c.Copy(step[0], to, step[1], step[2]); err != nil {
			r.t.Fatal(err)
		}
	}
	if r.layout.HasState() {
		r.set(to, whole.State(), blob.Partial)
	}
	r.clear(scratch)
	if have := r.join(r.get(to, blob.Whole)); !bytes.Equal(have.Append(nil, blob.Whole), r.join(whole).Append(nil, blob.Whole)) {
		r.t.Error("trunk and tail are not the sequence that the tail was taken from")
	}
	r.same("tail", want, r.feed(to, n, next))
	r.clear(to)
	if !bytes.Equal(before, r.bytes(0, blob.Whole)) {
		r.t.Error("the trunk's sequence has changed")
	}
}

// The probe finds by itself what the engine decides, leaves its sequences
// empty, and says why where the layout is not that of the context.
func TestProbeOfStates(t *testing.T) {
	path := written(t, synth.Qwen35, synth.Config{Layers: 8})
	m := enginetest.Load(t, path)
	opt := engine.ContextOptions{Cells: 1024, Sequences: 4, Batch: 64, MicroBatch: 64, Outputs: 4, Threads: 2, FlashAttention: engine.FlashOff}
	r := newRig(t, m, path, opt)
	for seq := range 4 {
		if end, err := r.c.End(seq); err != nil || end != 0 {
			t.Errorf("sequence %d ends at %d after the probe, %v", seq, end, err)
		}
	}
	withMTP := written(t, synth.Qwen35, synth.Config{MTP: 1}) // whose layers are of another context
	newRig(t, enginetest.Load(t, withMTP), withMTP, opt)
	good := layoutOf(t, path, opt)
	for what, change := range map[string]func(*blob.Layout){
		"other order, other cells": func(l *blob.Layout) { l.Pools[0].Transposed, l.Pools[0].Extra = false, 0 },
	} {
		l := good
		l.Pools = append([]blob.Pool(nil), good.Pools...)
		change(&l)
		if v := r.probe(l).Run(); v.Opaque() || !v.Layout.Same(good) {
			t.Errorf("%s: %+v, %v", what, v.Layout, v.Reason)
		}
	}
	for what, change := range map[string]func(*blob.Layout){
		"streams": func(l *blob.Layout) { l.Pools[0].Streams = 1 },
		"window":  func(l *blob.Layout) { l.Pools[0].Window = 3 },
		"layers":  func(l *blob.Layout) { l.Pools[0].Keys = l.Pools[0].Keys[1:] },
		"key type": func(l *blob.Layout) {
			l.Pools[0].Keys = []blob.Row{{Type: gguf.BF16, Width: 64}, {Type: gguf.BF16, Width: 64}}
		},
		"no recurrent": func(l *blob.Layout) { l.Recurrent = nil },
		"no pool":      func(l *blob.Layout) { l.Pools = nil },
		"model layers": func(l *blob.Layout) { c := *l.Recurrent; c.Layers++; l.Recurrent = &c },
	} {
		l := good
		l.Pools = append([]blob.Pool(nil), good.Pools...)
		change(&l)
		v := r.probe(l).Run()
		if !v.Opaque() || !errors.Is(v.Reason, blob.ErrUnproven) {
			t.Errorf("%s: not opaque: %v", what, v.Reason)
		}
	}
	p := r.probe(good)
	p.Get = func(int, blob.Part) ([]byte, error) { return nil, fmt.Errorf("broken: %w", io.ErrUnexpectedEOF) }
	if v := p.Run(); !errors.Is(v.Reason, io.ErrUnexpectedEOF) {
		t.Errorf("a broken engine: %v", v.Reason)
	}
	swapped := r.probe(good) // an engine that reads two rows in the other order
	swapped.Get = func(seq int, part blob.Part) ([]byte, error) {
		data, err := r.c.State(nil, seq, flags(part))
		if b, bad := blob.Parse(good, data, part); err == nil && bad == nil && b.Cells(0) > 3 {
			x, y := b.Key(0, 0, 1), b.Key(0, 0, 2)
			for i := range x {
				x[i], y[i] = y[i], x[i]
			}
		}
		return data, err
	}
	if v := swapped.Run(); !errors.Is(v.Reason, blob.ErrUnproven) {
		t.Errorf("rows in another order: %v", v.Reason)
	}
}
