package engine_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dure/gguf"
	"dure/gguf/synth"
	"dure/inference/catalog"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/kvcache/blob"
)

// rig is a context whose states are read, cut, joined and set.
type rig struct {
	t      *testing.T
	c      *engine.Context
	layout blob.Layout
	exact  bool      // logits are compared, not distributions
	noise  float64   // as of subject
	last   []float32 // what the last prefix or pieces gave
}

// subject is a model and a context to try states on.
type subject struct {
	path         string
	tokens, at   int // length of a sequence, and of its prefix
	flash        engine.FlashAttention
	unified      bool
	keys, values string
	prose        bool
	// noise is how far distributions may differ where cells lie elsewhere, 0 for the
	// usual. Weights of 8 bits have activations rounded to as many, so another order
	// of summation can show in single logits (0.7 was met, at a divergence of 0.003).
	// A window is set without what lay before it,
	// so its cells always do: the engine sums in another order, also when it is
	// given its own bytes back.
	noise float64
	model *engine.Model // of prose, when it is loaded
}

// subjects are the kinds of memory, plain, window and hybrid, each in both
// pools, with values in both orders and with quantised ones.
func subjects(t *testing.T) map[string]subject {
	t.Helper()
	out := map[string]subject{}
	gemma, qwen := written(t, synth.Gemma3, synth.Config{HeadDim: 64}), written(t, synth.Qwen35, synth.Config{Layers: 8})
	for name, s := range map[string]subject{
		"smollm2": {path: enginetest.DemoModel(t), tokens: 154, at: 90, prose: true},
		"gemma3":  {path: gemma, tokens: 192, at: 128}, // window 64
		"qwen35":  {path: qwen, tokens: 154, at: 90},
	} {
		for _, c := range []struct {
			name         string
			flash        engine.FlashAttention
			unified      bool
			keys, values string
		}{
			{"off unified", engine.FlashOff, true, "f16", "f16"},
			{"off split", engine.FlashOff, false, "f32", "f16"},
			{"on unified", engine.FlashOn, true, "f16", "f16"},
			{"on split q8_0", engine.FlashOn, false, "q8_0", "q8_0"},
			{"on unified q4_0", engine.FlashOn, true, "q8_0", "q4_0"},
			{"off unified q8_0 keys", engine.FlashOff, true, "q8_0", "f16"},
			{"auto unified", engine.FlashAuto, true, "f16", "f16"},
		} {
			s.flash, s.unified, s.keys, s.values = c.flash, c.unified, c.keys, c.values
			out[name+" "+c.name] = s
		}
	}
	real := subject{path: pulled(t, "gemma-3-270m"), tokens: 640, at: 576, prose: true}
	real.flash, real.unified, real.noise = engine.FlashOff, true, 5e-2
	out["gemma-3-270m off unified"] = real
	real.flash = engine.FlashOn
	out["gemma-3-270m on unified"] = real
	return out
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

// pulled is the file of a model of the catalogue.
func pulled(t *testing.T, name string) string {
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

// rig opens the context of a subject, and proves the layout on it.
func (s *subject) rig(t *testing.T) *rig {
	t.Helper()
	m := enginetest.Load(t, s.path)
	if s.prose {
		s.model = m
	}
	cells := 4 * max(256, (s.tokens+255)/256*256)
	r := newRig(t, m, s.path, engine.ContextOptions{Cells: cells, Sequences: 4, Batch: 64, MicroBatch: 64, Outputs: 4,
		Threads: 2, FlashAttention: s.flash, Unified: s.unified, KeyType: s.keys, ValueType: s.values})
	if s.noise > 0 {
		r.exact, r.noise = false, s.noise
	}
	return r
}

func newRig(t *testing.T, m *engine.Model, path string, opt engine.ContextOptions) *rig {
	t.Helper()
	r := &rig{t: t, c: newContext(t, m, opt), exact: opt.FlashAttention == engine.FlashOff, noise: 2e-3}
	v := r.probe(layoutOf(t, path, opt)).Run()
	if v.Opaque() {
		t.Fatalf("opaque: %v", v.Reason)
	}
	r.layout = v.Layout
	return r
}

func layoutOf(t *testing.T, path string, opt engine.ContextOptions) blob.Layout {
	t.Helper()
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g, err := file.Geometry()
	if err != nil {
		t.Fatal(err)
	}
	o := blob.Options{Keys: cacheType(t, opt.KeyType), Values: cacheType(t, opt.ValueType), Streams: opt.Sequences,
		Transposed: opt.FlashAttention == engine.FlashOff}
	if opt.Unified {
		o.Streams = 1
	}
	l, err := blob.Of(g, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func cacheType(t *testing.T, name string) (typ gguf.TensorType) {
	t.Helper()
	if name == "" {
		return gguf.F16
	}
	if err := typ.UnmarshalText([]byte(strings.ToUpper(name))); err != nil {
		t.Fatal(err)
	}
	return typ
}

func (r *rig) probe(l blob.Layout) blob.Probe {
	return blob.Probe{
		Layout: l, Tokens: []int32{11, 12, 13, 14, 15, 16, 17}, From: 1, To: 3,
		Decode: func(seq int, tokens []int32, at int) error {
			var rows []row
			for i, tok := range tokens {
				rows = append(rows, row{tok, at + i, seq, false})
			}
			return decode(r.t, r.c, rows...)
		},
		Get: func(seq int, part blob.Part) ([]byte, error) { return r.c.State(nil, seq, flags(part)) },
		Set: func(seq int, data []byte, part blob.Part) error { return r.c.SetState(data, seq, flags(part)) },
		Clear: func(seq int) error {
			return r.c.Remove(seq, engine.All, engine.All)
		},
	}
}

func flags(p blob.Part) engine.StateFlags {
	if p == blob.Partial {
		return engine.StatePartial
	}
	return engine.StateWhole
}

// feed decodes tokens from a position on and returns the logits after the last.
func (r *rig) feed(seq, at int, tokens ...engine.Token) []float32 {
	r.t.Helper()
	for len(tokens) > 0 {
		n := min(len(tokens), 64)
		var rows []row
		for i, tok := range tokens[:n] {
			rows = append(rows, row{tok, at + i, seq, i == n-1})
		}
		if err := decode(r.t, r.c, rows...); err != nil {
			r.t.Fatal(err)
		}
		tokens, at = tokens[n:], at+n
		if len(tokens) == 0 {
			l, err := r.c.Logits(n - 1)
			if err != nil {
				r.t.Fatal(err)
			}
			return append([]float32(nil), l...)
		}
	}
	return nil
}

// cold is what the model says after tokens that are read anew, in two goes, and
// their state. Sequence 0 is empty before and after.
func (r *rig) cold(tokens []engine.Token, at int, next engine.Token) ([]float32, *blob.Blob) {
	r.t.Helper()
	r.feed(0, 0, tokens[:at]...)
	r.feed(0, at, tokens[at:]...)
	state := r.get(0, blob.Whole)
	out := r.feed(0, len(tokens), next)
	r.clear(0)
	return out, state
}

func (r *rig) clear(seq int) {
	r.t.Helper()
	if err := r.c.Remove(seq, engine.All, engine.All); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) bytes(seq int, part blob.Part) []byte {
	r.t.Helper()
	data, err := r.c.State(nil, seq, flags(part))
	if err != nil {
		r.t.Fatal(err)
	}
	return data
}

// get reads and parses a state, which must be written again as it was.
func (r *rig) get(seq int, part blob.Part) *blob.Blob {
	r.t.Helper()
	data := r.bytes(seq, part)
	b, err := blob.Parse(r.layout, data, part)
	if err != nil {
		r.t.Fatal(err)
	}
	if !bytes.Equal(b.Append(nil, part), data) {
		r.t.Fatal("a state is not written as it was read")
	}
	return b
}

func (r *rig) rows(b *blob.Blob, from, to int) *blob.Blob {
	r.t.Helper()
	out, err := b.Rows(from, to)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) join(parts ...*blob.Blob) *blob.Blob {
	r.t.Helper()
	out, err := blob.Join(r.layout, parts...)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) set(seq int, b *blob.Blob, part blob.Part) {
	r.t.Helper()
	if err := r.c.SetState(b.Append(nil, part), seq, flags(part)); err != nil {
		r.t.Fatal(err)
	}
}

// same compares logits: within the noise of another order of summation without
// flash attention; with it, or a trained model's 8 bits, cells that lie elsewhere
// move single logits, and the distributions are compared.
func (r *rig) same(what string, want, got []float32) {
	r.t.Helper()
	if d := maxDiff(want, got); r.exact && !(d <= 1e-3) {
		r.t.Errorf("%s: logits differ by %g", what, d)
	}
	if kl := enginetest.Divergence(want, got); !r.exact && !(kl <= r.noise) {
		r.t.Errorf("%s: distributions differ by %g", what, kl)
	}
}

// prompts are two of the subject's length that part after at tokens: prose for
// models that were trained, any tokens for the others.
func (r *rig) prompts(s subject) (a, b []engine.Token) {
	if s.model == nil {
		a, b = text(s.tokens, 1), text(s.tokens, 2)
	} else {
		prose, err := os.ReadFile(filepath.Join("..", "..", "LICENSE"))
		if err != nil {
			r.t.Fatal(err)
		}
		tokens, err := s.model.Tokenize(r.t.Context(), string(prose), false, false)
		if err != nil || len(tokens) < 2*s.tokens {
			r.t.Fatalf("%d tokens, %v", len(tokens), err)
		}
		a, b = tokens[:s.tokens:s.tokens], tokens[s.tokens:2*s.tokens]
	}
	return a, append(append([]engine.Token(nil), a[:s.at]...), b[s.at:]...)
}

// text is n tokens that depend on a seed.
func text(n, seed int) []engine.Token {
	out := make([]engine.Token, n)
	for i := range out {
		out[i] = engine.Token(20 + (i*i*7+i*seed*13+seed*31)%230)
	}
	return out
}
