package codec

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"dure/gguf"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/kvcache/blob"
)

var models = flag.Bool("models", false, "measure the classes on real states; needs engine and models, takes minutes")

const (
	realContext = 2048
	realFollow  = 256
)

// Run with
//
//	go test ./kvcache/codec -run RealStates -v -args -models
//
// It measures what each class makes of real keys and values and what a model
// loses by it: the divergence of what it says of the tokens that follow, beside
// that of cells of q8_0 and q4_0. The bars of the classes are checked; times are
// printed only.
func TestRealStates(t *testing.T) {
	if !*models {
		t.Skip("SKIPPED: a measurement of minutes; pass -args -models")
	}
	for _, name := range []string{"smollm2-135m", "gemma-3-270m"} {
		t.Run(name, func(t *testing.T) {
			r := &realModel{t: t, path: enginetest.RealModel(t, name), logits: map[string][]float32{}, states: map[string][]byte{}, tokens: map[string][]engine.Token{}}
			r.model = enginetest.Load(t, r.path)
			r.read("f16", "prose", "code", "calibration")
			bars := map[Class]float64{}
			for _, typ := range []string{"q8_0", "q4_0"} {
				loss := r.cells(typ)
				t.Logf("cells of %s: divergence %.5f", typ, loss)
				if bars[Near] == 0 {
					bars[Near] = loss
				}
				bars[NearSmall], bars[Small], bars[Calibrated] = max(0.005, 1.5*bars[Near]), loss, loss
			}
			r.classes(bars, map[Class]float64{Exact: 1.15, Near: 2.1, NearSmall: 3.2, Small: 5, Calibrated: 7.5})
		})
	}
}

// realModel is a model, its states of f16 cells after some texts, and what it
// says of the tokens that follow.
type realModel struct {
	t      *testing.T
	path   string
	model  *engine.Model
	form   Form
	states map[string][]byte
	tokens map[string][]engine.Token
	logits map[string][]float32
}

// text is this project's own.
func (r *realModel) text(name string) string {
	patterns := map[string][]string{
		"prose": {"RATIONALE.md"}, "code": {"kvcache/store/*.go"}, "calibration": {"ARCHITECTURE.md", "LICENSE", "inference/sched/*.go"},
	}
	var out strings.Builder
	for _, p := range patterns[name] {
		names, err := filepath.Glob(filepath.Join("..", "..", p))
		if err != nil || len(names) == 0 {
			r.t.Fatalf("no %s: %v", p, err)
		}
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				r.t.Fatal(err)
			}
			out.Write(b)
		}
	}
	return out.String()
}

// with opens a context of a type of cells.
func (r *realModel) with(typ string, do func(c *engine.Context)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := r.model.NewContext(engine.ContextOptions{Cells: realContext + 512, Sequences: 1, Batch: 256, MicroBatch: 256, Outputs: 256,
		Threads: 1, FlashAttention: engine.FlashOn, Unified: true, KeyType: typ, ValueType: typ})
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	do(c)
}

// feed decodes tokens and gives the logits of all of them, if they are wanted.
func (r *realModel) feed(c *engine.Context, at int, tokens []engine.Token, want bool) (out []float32) {
	batch := c.NewBatch()
	defer batch.Close()
	for ; len(tokens) > 0; tokens, at = tokens[min(len(tokens), 256):], at+256 {
		batch.Reset()
		n := min(len(tokens), 256)
		for i, tok := range tokens[:n] {
			if err := batch.Add(tok, at+i, 0, want); err != nil {
				r.t.Fatal(err)
			}
		}
		if err := c.Decode(batch); err != nil {
			r.t.Fatal(err)
		}
		for i := 0; want && i < n; i++ {
			l, err := c.Logits(i)
			if err != nil {
				r.t.Fatal(err)
			}
			out = append(out, l...)
		}
	}
	return out
}

// read makes states and logits of texts.
func (r *realModel) read(typ string, texts ...string) {
	r.form = r.formOf()
	r.with(typ, func(c *engine.Context) {
		for _, name := range texts {
			tokens, err := r.model.Tokenize(r.t.Context(), r.text(name), true, false)
			if err != nil || len(tokens) < realContext+realFollow {
				r.t.Fatalf("%d tokens of %s: %v", len(tokens), name, err)
			}
			r.tokens[name] = tokens[:realContext+realFollow]
			r.feed(c, 0, tokens[:realContext], false)
			if r.states[name], err = c.State(nil, 0, engine.StateWhole); err != nil {
				r.t.Fatal(err)
			}
			r.logits[name] = r.feed(c, realContext, r.tokens[name][realContext:], true)
			if err := c.Remove(0, engine.All, engine.All); err != nil {
				r.t.Fatal(err)
			}
		}
	})
}

func (r *realModel) formOf() Form {
	file, err := gguf.Open(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	g, err := file.Geometry()
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := blob.Of(g, blob.Options{Keys: gguf.F16, Values: gguf.F16, Streams: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	f, err := FormOf(g, l)
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// cells is the loss of a type of cells.
func (r *realModel) cells(typ string) (loss float64) {
	r.with(typ, func(c *engine.Context) {
		for _, name := range []string{"prose", "code"} {
			r.feed(c, 0, r.tokens[name][:realContext], false)
			kl, _ := r.compare(name, r.feed(c, realContext, r.tokens[name][realContext:], true))
			loss += kl / 2
			if err := c.Remove(0, engine.All, engine.All); err != nil {
				r.t.Fatal(err)
			}
		}
	})
	return loss
}

// compare gives the mean divergence and the share of tokens that stay first.
func (r *realModel) compare(name string, got []float32) (divergence, top float64) {
	want := r.logits[name]
	v := len(want) / realFollow
	first := func(x []float32) (at int) {
		for i := range x {
			if x[i] > x[at] {
				at = i
			}
		}
		return at
	}
	for i := range realFollow {
		a, b := want[i*v:(i+1)*v], got[i*v:(i+1)*v]
		divergence += enginetest.Divergence(a, b) / realFollow
		if first(a) == first(b) {
			top += 1.0 / realFollow
		}
	}
	return divergence, top
}

// classes measures all of them against the loss and the ratio each must keep.
func (r *realModel) classes(loss, ratio map[Class]float64) {
	begin := time.Now()
	basis, err := Calibrate(r.form, r.states["calibration"])
	if err != nil {
		r.t.Fatal(err)
	}
	file, err := basis.Append(nil, r.form)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Logf("calibrated in %.0f s, %.1f MB", time.Since(begin).Seconds(), float64(len(file))/1e6)
	r.with("f16", func(c *engine.Context) {
		for _, class := range Classes() {
			line, sum, coded := "", 0.0, 0
			for _, name := range []string{"prose", "code"} {
				size, kl, top := r.one(c, name, class, basis)
				line += fmt.Sprintf("; %s: divergence %.5f, first %.1f %%", name, kl, 100*top)
				sum, coded = sum+kl/2, coded+size/2
			}
			got := float64(len(r.states["code"])) / float64(coded)
			r.t.Logf("%-10v %.2fx, %d B/token%s", class, got, coded/realContext, line)
			if got < ratio[class] || sum > loss[class] {
				r.t.Errorf("%v: %.2fx at %.5f, must be %.2fx at %.5f", class, got, sum, ratio[class], loss[class])
			}
		}
	})
}

// one sets a coded state and has the model go on from it.
func (r *realModel) one(c *engine.Context, name string, class Class, b *Basis) (size int, divergence, top float64) {
	coded, err := Encode(nil, r.states[name], r.form, class, b)
	if err != nil {
		r.t.Fatal(err)
	}
	back, err := Decode(nil, coded, r.form, b)
	if err != nil {
		r.t.Fatal(err)
	}
	if class == Exact && !bytes.Equal(back, r.states[name]) {
		r.t.Fatal("exact is not")
	}
	if err := c.SetState(back, 0, engine.StateWhole); err != nil {
		r.t.Fatal(err)
	}
	divergence, top = r.compare(name, r.feed(c, realContext, r.tokens[name][realContext:], true))
	if err := c.Remove(0, engine.All, engine.All); err != nil {
		r.t.Fatal(err)
	}
	return len(coded), divergence, top
}
