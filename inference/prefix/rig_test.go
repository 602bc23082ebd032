package prefix

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/kvcache"
	"dure/kvcache/blob"
)

// subject is a model and a kind of context.
type subject struct {
	path    string
	unified bool
	flash   engine.FlashAttention
	// far is how much logits may differ from a cold run, or else kl how much the
	// distributions may.
	far, kl float64
}

// rig runs conversations on a cache and compares with reading all of it anew.
type rig struct {
	t     *testing.T
	s     subject
	c     *Cache
	ctx   *engine.Context
	batch *engine.Batch
	cold  *engine.Context
	coldB *engine.Batch
	now   kvcache.Tick
	worst float64
}

const (
	testSlots = 3
	testCells = 512 // of each sequence
	grain     = 16
)

func (s subject) rig(t *testing.T, opt Options) *rig {
	t.Helper()
	m := enginetest.Load(t, s.path)
	r := &rig{t: t, s: s}
	o := engine.ContextOptions{Cells: testSlots * testCells, Sequences: testSlots + Spares(s.unified), Batch: 128, MicroBatch: 128,
		Outputs: testSlots + 1, Threads: 1, FlashAttention: s.flash, Unified: s.unified}
	r.ctx, r.batch = open(t, m, o)
	o.Sequences, o.Cells, o.Unified = 1, testCells, true
	r.cold, r.coldB = open(t, m, o)
	file, err := gguf.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if opt.Geometry, err = file.Geometry(); err != nil {
		t.Fatal(err)
	}
	opt.Slots, opt.Cells, opt.Facts = testSlots, testSlots*testCells, m.Facts()
	if r.c, err = Open(r.ctx, r.batch, opt, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		t.Fatal(err)
	}
	return r
}

func open(t *testing.T, m *engine.Model, o engine.ContextOptions) (*engine.Context, *engine.Batch) {
	t.Helper()
	ctx, err := m.NewContext(o)
	if err != nil {
		t.Fatal(err)
	}
	batch := ctx.NewBatch()
	t.Cleanup(func() {
		if err := errors.Join(batch.Close(), ctx.Close()); err != nil {
			t.Error(err)
		}
	})
	return ctx, batch
}

// read decodes tokens from a position on, in pieces that end at multiples of
// grain and at stops, and returns the logits after the last. Pieces of another
// size give other sums: what is compared is read in the same ones.
func (r *rig) read(ctx *engine.Context, b *engine.Batch, seq, at int, tokens []int32, stops []int, pause func(from, to int)) []float32 {
	r.t.Helper()
	for from := at; from < len(tokens); {
		to := min(len(tokens), from/grain*grain+grain)
		for _, s := range stops {
			if s > from {
				to = min(to, s)
			}
		}
		b.Reset()
		for p := from; p < to; p++ {
			if err := b.Add(tokens[p], p, seq, p == len(tokens)-1); err != nil {
				r.t.Fatal(err)
			}
		}
		if err := ctx.Decode(b); err != nil {
			r.t.Fatal(err)
		}
		if pause != nil {
			pause(from, to)
		}
		from = to
	}
	l, err := ctx.Logits(b.Len() - 1)
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// turn answers a prompt with n tokens and compares the logits before the first
// and after the last with a cold run. It returns prompt and answer.
func (r *rig) turn(prompt []int32, marks []int, n int, session kvcache.SessionID) (all []int32, m kvcache.Match) {
	r.t.Helper()
	r.now += 1e9
	id, _, err := r.c.Acquire(r.now, kvcache.Request{Tokens: prompt, Marks: marks, Output: n, Session: session})
	if err != nil {
		r.t.Fatal(err)
	}
	r.pump()
	r.fetched()
	plan, ready, err := r.c.Ready(id)
	if err != nil || !ready {
		r.t.Fatalf("not ready: %v", err)
	}
	r.holds(plan.Slot, prompt[:plan.Reuse])
	logits := r.read(r.ctx, r.batch, plan.Slot, plan.Reuse, prompt, plan.Stops, func(from, to int) {
		r.extend(id, prompt[from:to])
		if slices.Contains(plan.Stops, to) {
			if _, err := r.c.Checkpoint(r.now, id); err != nil {
				r.t.Fatal(err)
			}
			r.pump()
		}
	})
	all = slices.Clone(prompt)
	r.compare("prompt", all, append([]float32(nil), logits...))
	for range n {
		next := int32(1)
		for i, l := range logits {
			if l > logits[next] {
				next = int32(i)
			}
		}
		all = append(all, next)
		logits = r.read(r.ctx, r.batch, plan.Slot, len(all)-1, all, nil, nil)
		r.extend(id, all[len(all)-1:])
	}
	r.compare("answer", all, append([]float32(nil), logits...))
	r.c.Release(r.now, id, kvcache.Waiting)
	r.pump()
	return all, plan.Match
}

func (r *rig) extend(id kvcache.LeaseID, tokens []int32) {
	r.t.Helper()
	if err := r.c.Extend(r.now, id, tokens); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) pump() {
	r.t.Helper()
	if err := r.c.Pump(r.now); err != nil {
		r.t.Fatal(err)
	}
	if err := r.c.Check(); err != nil {
		r.t.Fatal(err)
	}
}

// fetched waits until nothing is read or written any more.
func (r *rig) fetched() {
	r.t.Helper()
	for r.c.Busy() {
		r.c.Completed(r.now, <-r.c.Fetched())
		r.pump()
	}
}

// holds proves, for models whose cells know their tokens, that a sequence is of
// the tokens it is thought to be.
func (r *rig) holds(seq int, tokens []int32) {
	r.t.Helper()
	l := r.c.layout
	if len(tokens) == 0 || r.c.Opaque() != nil || len(l.Pools) == 0 {
		return
	}
	b, err := r.c.read(seq, 0, blob.Whole)
	if err != nil {
		r.t.Fatal(err)
	}
	if b.End() != len(tokens) {
		r.t.Fatalf("sequence %d holds %d tokens, not %d", seq, b.End(), len(tokens))
	}
	for _, cell := range b.All(0) {
		if l.Pools[0].Extra == 3 && cell.Token != tokens[cell.Pos] {
			r.t.Fatalf("sequence %d holds token %d at %d, not %d", seq, cell.Token, cell.Pos, tokens[cell.Pos])
		}
	}
}

func (r *rig) compare(what string, tokens []int32, got []float32) {
	r.t.Helper()
	want := r.read(r.cold, r.coldB, 0, 0, tokens, nil, nil)
	if err := r.cold.Remove(0, engine.All, engine.All); err != nil {
		r.t.Fatal(err)
	}
	d := 0.0
	if r.s.far > 0 {
		for i := range want {
			d = max(d, math.Abs(float64(want[i]-got[i])))
		}
	} else {
		d = enginetest.Divergence(want, got)
	}
	r.worst = max(r.worst, d)
	if limit := r.s.far + r.s.kl; !(d <= limit) {
		r.t.Errorf("%s of %d tokens: differs by %g, at most %g", what, len(tokens), d, limit)
	}
}

func written(t *testing.T, write func(io.Writer, synth.Config) error, cfg synth.Config) string {
	t.Helper()
	var buf bytes.Buffer
	if err := write(&buf, cfg); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
