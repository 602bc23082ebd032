package store

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/kvcache"
	"dure/kvcache/blob"
	"dure/kvcache/codec"

	"github.com/klauspost/compress/zstd"
)

// Run with
//
//	go test ./kvcache/store -run RealStates -v -args -models
//
// It measures what the codec makes of real keys and values, what 32 parked
// agents of 7,000 tokens that share 2,000 take, and what restoring one of them
// from disk costs beside reading its tokens. The figures are printed, and the
// bars that hold for the sizes are checked; times are not.
func TestRealStates(t *testing.T) {
	if !*models {
		t.Skip("SKIPPED: a measurement of minutes; pass -args -models")
	}
	for _, c := range []struct {
		model, typ string
		tokens     int
		most       float64 // of the raw bytes, coded
	}{
		{"smollm2-135m", "f16", 7000, 0.87},
		{"smollm2-135m", "q8_0", 2000, 0.96},
		{"gemma-3-270m", "f16", 2000, 0.88},
		{"gemma-3-270m", "q8_0", 2000, 0.96},
	} {
		t.Run(c.model+" "+c.typ, func(t *testing.T) {
			data, path, f, prefill := state(t, c.model, c.typ, c.tokens)
			ratio := speeds(t, data, f.Layout)
			if ratio > c.most {
				t.Errorf("coded to %.3f of the raw bytes, at most %.3f", ratio, c.most)
			}
			if c.tokens == 7000 {
				agents(t, data, path, f.Layout, prefill)
				parked(t, data, path, f, prefill)
			}
		})
	}
}

// state reads tokens of the project's own texts, in time prefill.
func state(t *testing.T, name, typ string, n int) (data []byte, path []kvcache.Token, f codec.Form, prefill time.Duration) {
	t.Helper()
	file := modelFile(t, name)
	m := enginetest.Load(t, file)
	path = prose(t, m, n)
	opt := engine.ContextOptions{Cells: n + 256, Sequences: 1, Batch: 256, MicroBatch: 256, Outputs: 1, Threads: 1,
		FlashAttention: engine.FlashOn, Unified: true, KeyType: typ, ValueType: typ}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := m.NewContext(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := c.NewBatch()
	defer b.Close()
	start := time.Now()
	for i := 0; i < n; i += 250 {
		b.Reset()
		for j := i; j < min(n, i+250); j++ {
			if err := b.Add(path[j], j, 0, j == n-1); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Decode(b); err != nil {
			t.Fatal(err)
		}
	}
	prefill = time.Since(start)
	if data, err = c.State(nil, 0, engine.StateWhole); err != nil {
		t.Fatal(err)
	}
	return data, path, formOf(t, file, typ), prefill
}

func modelFile(t *testing.T, name string) string {
	t.Helper()
	cat, err := catalog.Load(filepath.Join("..", "..", "models.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := cat.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	path, ok := catalog.Local(enginetest.Home(t), entry)
	if !ok {
		t.Fatalf("model %s is not on this machine; run `make test`, which pulls it", name)
	}
	return path
}

func prose(t *testing.T, m *engine.Model, n int) []kvcache.Token {
	t.Helper()
	var text strings.Builder
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "RATIONALE.md", "kvcache/lease.go", "kvcache/lookup.go"} {
		b, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	path, err := m.Tokenize(t.Context(), text.String(), true, false)
	if err != nil || len(path) < n {
		t.Fatalf("%d tokens, %v", len(path), err)
	}
	return path[:n]
}

func formOf(t *testing.T, file, typ string) codec.Form {
	t.Helper()
	f, err := gguf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := f.Geometry()
	if err != nil {
		t.Fatal(err)
	}
	var cache gguf.TensorType
	if err := cache.UnmarshalText([]byte(strings.ToUpper(typ))); err != nil {
		t.Fatal(err)
	}
	l, err := blob.Of(g, blob.Options{Keys: cache, Values: cache, Streams: 1})
	if err != nil {
		t.Fatal(err)
	}
	form, err := codec.FormOf(g, l)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// parked prints what an agent takes in each class, and what restoring it costs
// beside reading its tokens.
func parked(t *testing.T, data []byte, path []kvcache.Token, f codec.Form, prefill time.Duration) {
	t.Helper()
	for _, class := range []codec.Class{codec.Exact, codec.Near, codec.NearSmall, codec.Small} {
		cfg := testConfig(t.TempDir())
		cfg.Budget, cfg.Identity.Layout, cfg.Form, cfg.Class = 1<<30, f.Layout, &f, class
		s, _ := begin(t, cfg)
		w := write(t, s, 1, path, 0, data)
		r := do(t, s, Job{Kind: Read, Object: 1})
		if r.Err != nil || r.Class != class || len(r.Data) != len(data) {
			t.Fatalf("%v: %d bytes: %v", r.Class, len(r.Data), r.Err)
		}
		t.Logf("%-10v %d B/token, %.2fx; written in %.2f s, restored in %.3f s, 1/%.0f of reading the tokens", class, int(w.Bytes)/len(path),
			float64(len(data))/float64(w.Bytes), w.Took.Seconds(), r.Took.Seconds(), prefill.Seconds()/r.Took.Seconds())
	}
}

// speeds prints what each way to code makes of the bytes, on one core.
func speeds(t *testing.T, data []byte, l blob.Layout) (ratio float64) {
	t.Helper()
	mb := func(d time.Duration) float64 { return float64(len(data)) / 1e6 / d.Seconds() }
	cut := sections(l, data)
	if len(cut) < 3 {
		t.Fatalf("the layout is not that of the bytes: %v", cut)
	}
	h := plan(nil, &Job{Path: tokens(1, 1), Data: data}, cut)
	for _, codec := range []Codec{Raw, Planes} {
		var c coder
		var coded []byte
		start, at := time.Now(), 0
		for i := range h.blocks {
			b := &h.blocks[i]
			out, kind := c.encode(data[at:at+b.raw], b.section, codec)
			b.codec, b.coded = kind, len(out)
			coded = append(coded, out...)
			at += b.raw
		}
		enc := time.Since(start)
		got := make([]byte, len(data))
		start, at = time.Now(), 0
		rest := coded
		for _, b := range h.blocks {
			if err := c.decode(got[at:at+b.raw], rest[:b.coded], b.codec, b.section); err != nil {
				t.Fatal(err)
			}
			at, rest = at+b.raw, rest[b.coded:]
		}
		dec := time.Since(start)
		if !bytes.Equal(got, data) {
			t.Fatal("decoded bytes differ")
		}
		ratio = float64(len(coded)) / float64(len(data))
		t.Logf("%-7v %.3f of %.1f MB, coded at %.0f MB/s, decoded at %.0f MB/s", codec, ratio, float64(len(data))/1e6, mb(enc), mb(dec))
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	coded := w.EncodeAll(data, nil)
	t.Logf("%-7s %.3f, coded at %.0f MB/s", "zstd", float64(len(coded))/float64(len(data)), mb(time.Since(start)))
	return ratio
}

// agents prints what 32 of them take, each with a tail like the one that was read.
func agents(t *testing.T, data []byte, path []kvcache.Token, l blob.Layout, prefill time.Duration) {
	t.Helper()
	const n, shared = 32, 2000
	whole, err := blob.Parse(l, data, blob.Whole)
	if err != nil {
		t.Fatal(err)
	}
	rowsOf := func(from, to int) []byte {
		b, err := whole.Rows(from, to)
		if err != nil {
			t.Fatal(err)
		}
		return b.Append(nil, blob.Whole)
	}
	trunk, tail := rowsOf(0, shared), rowsOf(shared, len(path))
	cfg := testConfig(t.TempDir())
	cfg.Budget, cfg.Identity.Layout = 1<<30, l
	s, _ := begin(t, cfg)
	a := write(t, s, 1, path[:shared], 0, trunk)
	b := write(t, s, 2, path, shared, tail)
	raw := float64(n * len(data))
	plain, coded := float64(len(trunk)+n*len(tail))/raw, float64(a.Bytes+n*b.Bytes)/raw
	t.Logf("%d agents x %d tokens, %d shared: raw blobs %.0f MB; shared once %.3f; coded %.3f (files, headers and all)", n, len(path), shared, raw/1e6, plain, coded)
	if plain > 0.78 || coded > 0.68 {
		t.Errorf("above the bars of 0.78 and 0.68")
	}
	var took time.Duration
	for id, want := range map[kvcache.ObjectID][]byte{1: trunk, 2: tail} {
		c := do(t, s, Job{Kind: Read, Object: id})
		if c.Err != nil || !bytes.Equal(c.Data, want) {
			t.Fatal(c.Err)
		}
		took += c.Took
	}
	t.Logf("reading %d tokens took the engine %.1f s on one core; from disk (in the page cache) %.3f s, 1/%.0f of it; written in %.2f s",
		len(path), prefill.Seconds(), took.Seconds(), prefill.Seconds()/took.Seconds(), (a.Took + b.Took).Seconds())
}
