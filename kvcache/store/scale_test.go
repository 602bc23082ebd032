package store

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	memory "dure/inference/plan"
	"dure/kvcache"
	"dure/kvcache/blob"
	"dure/kvcache/codec"
)

var scaleTokens = flag.Int("scale-tokens", 256, "tokens of each parked agent of the test of what a plan says; 4096 is a sixteenth of 64k")

// sixteenth has a sixteenth of the bytes of qwen3.8-27b for each token and state: 4
// of its 16 layers with a cache, a quarter of their heads; 12 of 48 layers with a
// state, a quarter of their heads.
func sixteenth() synth.Config {
	return synth.Config{Layers: 16, Embedding: 64, Heads: 1, KVHeads: 1, HeadDim: 256, FeedForward: 64, Context: 8192,
		Delta: synth.Delta{Kernel: 4, State: 128, Groups: 4, Heads: 12}}
}

// What `dure plan` says that parked agents take is what they take: 32 of them, with
// a quarter of their tokens in common, computed by the engine and parked in a folder,
// in each class after the other. At full size:
//
//	go test ./kvcache/store -run TestParkedAsPlanned -v -args -scale-tokens 4096
func TestParkedAsPlanned(t *testing.T) {
	agents, length := 32, *scaleTokens
	if length < 1024 {
		agents = 4
	}
	shared := length / 4
	p := newScaled(t, length)
	if kv, err := p.geometry.KV(gguf.F16, gguf.F16); err != nil || kv.Total() != 65536/16 || p.geometry.State() != 156893184/16 {
		t.Fatalf("%+v, %d, %v: not a sixteenth of the model", kv, p.geometry.State(), err)
	}
	f16 := memory.Cache{Keys: gguf.F16, Values: gguf.F16}
	planned, err := memory.ParkedStates(p.geometry, f16, agents, memory.Waiting{Context: length, Shared: shared}, nil)
	if err != nil {
		t.Fatal(err)
	}
	trunk := tokens(shared, 0)
	p.read(trunk, 0)
	p.park(trunk, 0)
	whole := p.whole()
	for a := range agents {
		p.set(whole)
		path := append(append([]kvcache.Token(nil), trunk...), agentTokens(length-shared, a)...)
		p.read(path, shared)
		p.park(path, shared)
	}
	if p.raw != int64(planned.Raw.Bytes) {
		t.Errorf("%d bytes of states, %d planned", p.raw, planned.Raw.Bytes)
	}
	for i, class := range codec.Classes()[:4] { // the last needs a basis
		if class > codec.Exact {
			p.change(class)
		}
		got, want := sizes(t, files(t, p.dir, fileSuffix)), int64(planned.Classes[i].Bytes)
		t.Logf("%-10v %5.1f MiB on disk, planned at most %5.1f MiB: %.3f of it, %.2f x smaller than %.1f MiB", class,
			float64(got)/(1<<20), float64(want)/(1<<20), float64(got)/float64(want), float64(p.raw)/float64(got), float64(p.raw)/(1<<20))
		if least := int64(leastOfPlanned[class] * float64(want)); got > want || got < least {
			t.Errorf("%v: %d bytes on disk, planned at most %d, expected at least %d", class, got, want, least)
		}
	}
}

// leastOfPlanned is the least part of what is planned that entropy coding can leave:
// of exact f16 and f32 sign and mantissa, 11 of 16 bits; of bf16 the same, 8 of 16;
// of rotated numbers of 8 bits about 7. Channels of rows that vary less than others
// take less; rows are the smaller part here.
var leastOfPlanned = map[codec.Class]float64{codec.Exact: 11. / 16, codec.Near: 8. / 16, codec.NearSmall: 8. / 16, codec.Small: 0.75}

// agentTokens are an agent's own.
func agentTokens(n, agent int) []kvcache.Token {
	out := make([]kvcache.Token, n)
	for i := range out {
		out[i] = kvcache.Token(3 + (i*31+agent*17+i*i%13)%250)
	}
	return out
}

// scaled is a context of the model, and a store that its states are parked in.
type scaled struct {
	t        *testing.T
	geometry *gguf.Geometry
	layout   blob.Layout
	ctx      *engine.Context
	batch    *engine.Batch
	store    *Store
	dir      string
	raw      int64 // bytes of what was parked
	objects  kvcache.ObjectID
}

func newScaled(t *testing.T, length int) *scaled {
	t.Helper()
	var file bytes.Buffer
	if err := synth.Qwen35(&file, sixteenth()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sixteenth.gguf")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	m := enginetest.Load(t, path)
	form := formOf(t, path, "f16")
	p := &scaled{t: t, layout: form.Layout, dir: t.TempDir()}
	g, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if p.geometry, err = g.Geometry(); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	opt := engine.ContextOptions{Cells: length + 256, Sequences: 1, Batch: 256, MicroBatch: 256, Outputs: 1, Threads: 2, FlashAttention: engine.FlashOn, Unified: true}
	if p.ctx, err = m.NewContext(opt); err != nil {
		t.Fatal(err)
	}
	p.batch = p.ctx.NewBatch()
	t.Cleanup(func() { p.batch.Close(); p.ctx.Close() })
	cfg := testConfig(p.dir)
	cfg.Identity.Layout, cfg.Identity.Layers = form.Layout, "rrra"
	cfg.Form, cfg.Class, cfg.Budget = &form, codec.Exact, 8<<30
	p.store, _ = begin(t, cfg)
	return p
}

// read has the model read a path from a position on.
func (p *scaled) read(path []kvcache.Token, from int) {
	p.t.Helper()
	for at := from; at < len(path); at += 256 {
		p.batch.Reset()
		for i := at; i < min(len(path), at+256); i++ {
			if err := p.batch.Add(path[i]%256, i, 0, i == len(path)-1); err != nil {
				p.t.Fatal(err)
			}
		}
		if err := p.ctx.Decode(p.batch); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *scaled) whole() []byte {
	p.t.Helper()
	data, err := p.ctx.State(nil, 0, engine.StateWhole)
	if err != nil {
		p.t.Fatal(err)
	}
	return data
}

func (p *scaled) set(data []byte) {
	p.t.Helper()
	if err := p.ctx.SetState(data, 0, engine.StateWhole); err != nil {
		p.t.Fatal(err)
	}
}

// park writes the rows of a path from a position on, and the state at its end.
func (p *scaled) park(path []kvcache.Token, from int) {
	p.t.Helper()
	b, err := blob.Parse(p.layout, p.whole(), blob.Whole)
	if err != nil {
		p.t.Fatal(err)
	}
	rows, err := b.Rows(from, len(path))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, j := range []Job{
		{Path: path, From: from, Data: rows.Append(nil, blob.Whole)},
		{Path: path, From: len(path), State: true, Data: b.State().Append(nil, blob.Partial)},
	} {
		p.objects++
		p.raw += int64(len(j.Data))
		j.Kind, j.Object = Write, p.objects
		if c := do(p.t, p.store, j); c.Err != nil || c.Class != codec.Exact {
			p.t.Fatalf("%+v", c)
		}
	}
}

// change codes everything in a class; what would not get smaller stays.
func (p *scaled) change(class codec.Class) {
	p.t.Helper()
	begun := time.Now()
	for id := kvcache.ObjectID(1); id <= p.objects; id++ {
		if c := do(p.t, p.store, Job{Kind: Change, Object: id, Class: class}); c.Err != nil || c.Class != class && !p.asSmall(id, class) {
			p.t.Fatalf("%+v", c)
		}
	}
	p.t.Logf("%d objects changed to %v, %.0f MB/s of their bytes", p.objects, class, float64(p.raw)/1e6/time.Since(begun).Seconds())
}

// asSmall: the recurrent states of the two near classes are the same.
func (p *scaled) asSmall(id kvcache.ObjectID, class codec.Class) bool {
	return class == codec.NearSmall && id%2 == 0
}
