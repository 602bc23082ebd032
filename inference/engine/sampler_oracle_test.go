package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"dure/gguf/synth"
	"dure/inference"
	"dure/inference/engine"
	"dure/inference/engine/enginetest"
	"dure/inference/sample"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// This file compares package sample with the samplers of llama.cpp: the tokens
// that survive all steps, their order and their probabilities. It stands here
// because only this package may call the library.

// samplerOracle is one vocabulary, as both sides see it. It implements
// sample.Vocabulary.
type samplerOracle struct {
	model  *engine.Model
	vocab  llama.Vocab
	text   string
	ends   []uint32
	random *rand.Rand
}

func newSamplerOracle(t *testing.T, path string) *samplerOracle {
	t.Helper()
	o := &samplerOracle{model: enginetest.Load(t, path), random: rand.New(rand.NewPCG(3, 5))}
	params := llama.ModelDefaultParams()
	params.VocabOnly = 1
	handle, err := llama.ModelLoadFromFile(path, params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := llama.ModelFree(handle); err != nil {
			t.Error(err)
		}
	})
	o.vocab = llama.ModelGetVocab(handle)
	var text []byte
	for i := range o.Size() {
		text = append(text, o.model.Vocabulary().Piece(engine.Token(i), true)...)
		o.ends = append(o.ends, uint32(len(text)))
	}
	o.text = string(text)
	return o
}

func (o *samplerOracle) Size() int                  { return o.model.Facts().Vocabulary }
func (o *samplerOracle) Pieces() (string, []uint32) { return o.text, o.ends }
func (o *samplerOracle) Tokenize(text string) ([]int32, error) {
	return o.model.Tokenize(context.Background(), text, false, false)
}

// chain builds the samplers of a request as llama.cpp's common_sampler_init
// does for its default order, without the last one, which draws.
func (o *samplerOracle) chain(t *testing.T, p inference.Params) llama.Sampler {
	t.Helper()
	n := int32(o.Size())
	chain := llama.SamplerChainInit(llama.SamplerChainDefaultParams())
	t.Cleanup(func() { llama.SamplerFree(chain) })
	var bias []llama.LogitBias
	for _, b := range p.LogitBias {
		if b.Bias <= -100 {
			b.Bias = float32(math.Inf(-1))
		}
		bias = append(bias, llama.LogitBias{Token: llama.Token(b.Token), Bias: b.Bias})
	}
	llama.SamplerChainAdd(chain, llama.SamplerInitLogitBias(n, int32(len(bias)), unsafe.SliceData(bias)))
	if p.Mirostat.Version == 0 {
		o.addDefault(chain, p)
		return chain
	}
	llama.SamplerChainAdd(chain, llama.SamplerInitTemp(p.Temperature))
	if p.Mirostat.Version == 1 {
		llama.SamplerChainAdd(chain, llama.SamplerInitMirostat(n, 1, p.Mirostat.Tau, p.Mirostat.Eta, 100))
	} else {
		llama.SamplerChainAdd(chain, llama.SamplerInitMirostatV2(1, p.Mirostat.Tau, p.Mirostat.Eta))
	}
	return chain
}

func (o *samplerOracle) addDefault(chain llama.Sampler, p inference.Params) {
	whole := func(n, standard int) int32 {
		switch {
		case n == 0:
			return int32(standard)
		case n < 0:
			return 1 << 15
		}
		return int32(n)
	}
	orOne := func(x float32) float32 {
		if x == 0 {
			return 1
		}
		return x
	}
	d := p.DRY
	base, allowed, breakers := d.Base, d.AllowedLength, d.Breakers
	if base == 0 {
		base = 1.75
	}
	if allowed == 0 {
		allowed = 2
	}
	if breakers == nil {
		breakers = []string{"\n", ":", "\"", "*"}
	}
	topK := p.TopK
	if topK == 0 {
		topK = sample.DefaultTopK
	}
	for _, s := range []llama.Sampler{
		llama.SamplerInitPenalties(int32(o.Size()), whole(p.Penalties.LastN, sample.DefaultLastN), orOne(p.Penalties.Repeat), p.Penalties.Frequency, p.Penalties.Presence),
		llama.SamplerInitDry(o.vocab, d.Multiplier, base, int32(allowed), whole(d.LastN, 1<<15), breakers),
		llama.SamplerInitTopK(int32(topK)),
		llama.SamplerInitTypical(orOne(p.TypicalP), 0),
		llama.SamplerInitTopP(p.TopP, 0),
		llama.SamplerInitMinP(p.MinP, 0),
		llama.SamplerInitXTC(p.XTC.Probability, p.XTC.Threshold, 0, 1),
		llama.SamplerInitTempExt(p.Temperature, 0, 1),
	} {
		llama.SamplerChainAdd(chain, s)
	}
}

// apply runs a chain over a row and returns what is left, by falling logit,
// with the logarithms of probabilities.
func apply(chain llama.Sampler, logits []float32) []inference.Candidate {
	data := make([]llama.TokenData, len(logits))
	for i, v := range logits {
		data[i] = llama.TokenData{Id: llama.Token(i), Logit: v}
	}
	array := &llama.TokenDataArray{Data: &data[0], Size: uint64(len(data)), Selected: -1}
	llama.SamplerApply(chain, array)
	left := slices.Clone(unsafe.Slice(array.Data, array.Size))
	runtime.KeepAlive(data)
	// Tokens of no probability are left in by llama.cpp and never drawn.
	left = slices.DeleteFunc(left, func(d llama.TokenData) bool { return math.IsInf(float64(d.Logit), -1) })
	slices.SortStableFunc(left, func(a, b llama.TokenData) int {
		if a.Logit != b.Logit {
			return map[bool]int{true: -1, false: 1}[a.Logit > b.Logit]
		}
		return int(a.Id) - int(b.Id)
	})
	sum := 0.0
	for _, d := range left {
		sum += math.Exp(float64(d.Logit) - float64(left[0].Logit))
	}
	out := make([]inference.Candidate, len(left))
	for i, d := range left {
		out[i] = inference.Candidate{Token: int32(d.Id), Logprob: float32(max(inference.MinLogprob, float64(d.Logit)-float64(left[0].Logit)-math.Log(sum)))}
	}
	return out
}

// row has logits spread like a model's: all different, so that no order is left
// to chance.
func (o *samplerOracle) row(spread float64) []float32 {
	row := make([]float32, o.Size())
	for i := range row {
		row[i] = float32(o.random.NormFloat64() * spread)
	}
	return row
}

// past is a text that repeats itself, with breakers in it now and then.
func (o *samplerOracle) past(breakers []int32) []int32 {
	alphabet := make([]int32, 2+o.random.IntN(8))
	for i := range alphabet {
		alphabet[i] = int32(o.random.IntN(o.Size()))
	}
	tokens := make([]int32, o.random.IntN(400))
	for i := range tokens {
		switch x := o.random.IntN(40); {
		case x == 0 && len(breakers) > 0:
			tokens[i] = breakers[o.random.IntN(len(breakers))]
		case x < 30 && i > 12:
			tokens[i] = tokens[i-5-o.random.IntN(3)/2]
		default:
			tokens[i] = alphabet[o.random.IntN(len(alphabet))]
		}
	}
	return tokens
}

// compare runs both sides over a history and a row.
func (o *samplerOracle) compare(t *testing.T, p inference.Params, past []int32, row []float32) {
	t.Helper()
	if p.TypicalP > 0 && o.vanishes(t, p, past, row) {
		p.TypicalP = 0
	}
	chain := o.chain(t, p)
	s, err := sample.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	cut := len(past) / 2
	s.Prompt(past[:cut])
	for i, token := range past {
		llama.SamplerAccept(chain, llama.Token(token))
		if i >= cut {
			s.Accept(token)
		}
	}
	got, err := s.Distribution(row)
	if err != nil {
		t.Fatal(err)
	}
	want := apply(chain, row)
	if d := difference(got, want); d != "" {
		t.Fatalf("%+v after %d tokens: %s", p, len(past), d)
	}
}

// vanishes reports whether a token that reaches typical has a probability of 0
// in float32. llama.cpp's entropy is NaN then, and what it keeps is chance.
func (o *samplerOracle) vanishes(t *testing.T, p inference.Params, past []int32, row []float32) bool {
	t.Helper()
	chain := o.chain(t, inference.Params{
		Temperature: 1, TopP: 1, TopK: p.TopK, LogitBias: p.LogitBias, Penalties: p.Penalties, DRY: p.DRY,
	})
	for _, token := range past {
		llama.SamplerAccept(chain, llama.Token(token))
	}
	left := apply(chain, row)
	topK := p.TopK
	if topK == 0 {
		topK = sample.DefaultTopK
	}
	return len(left) < min(topK, len(row)) || left[0].Logprob-left[len(left)-1].Logprob > 80
}

// difference of two distributions beyond the noise of float32.
func difference(got, want []inference.Candidate) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d tokens survive, llama.cpp leaves %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Token != want[i].Token {
			return fmt.Sprintf("place %d has token %d, llama.cpp's %d", i, got[i].Token, want[i].Token)
		}
		if d := math.Abs(float64(got[i].Logprob - want[i].Logprob)); d > 1e-4*max(1, math.Abs(float64(want[i].Logprob))) {
			return fmt.Sprintf("token %d has logprob %v, llama.cpp's %v", got[i].Token, got[i].Logprob, want[i].Logprob)
		}
	}
	return ""
}

// option sets one step to random values.
type option struct {
	name string
	set  func(*inference.Params)
}

// options are the steps.
func (o *samplerOracle) options() []option {
	r := o.random
	in := func(low, high float32) float32 { return low + r.Float32()*(high-low) }
	lastN := func() int { return []int{0, -1, 1, 7, 100}[r.IntN(5)] }
	return []option{
		{"logit_bias", func(p *inference.Params) {
			for _, token := range r.Perm(o.Size())[:1+r.IntN(30)] {
				p.LogitBias = append(p.LogitBias, inference.TokenBias{Token: int32(token), Bias: []float32{-100, in(-20, 20), 0}[r.IntN(3)]})
			}
		}},
		{"repeat", func(p *inference.Params) { p.Penalties.Repeat, p.Penalties.LastN = in(0.5, 2), lastN() }},
		{"frequency", func(p *inference.Params) { p.Penalties.Frequency, p.Penalties.LastN = in(-2, 2), lastN() }},
		{"presence", func(p *inference.Params) { p.Penalties.Presence, p.Penalties.LastN = in(-2, 2), lastN() }},
		{"dry", func(p *inference.Params) {
			p.DRY = inference.DRY{Multiplier: in(0.1, 3), AllowedLength: r.IntN(6), LastN: lastN()}
			if r.IntN(2) == 0 {
				p.DRY.Base = in(1, 3)
			}
			p.DRY.Breakers = [][]string{nil, {}, {"a"}, {"the "}, {" and", "e q", "\n\n-"}, {"zq+"}}[r.IntN(6)]
		}},
		{"typical_p", func(p *inference.Params) { p.TypicalP = in(0.05, 0.99) }},
		{"top_p", func(p *inference.Params) { p.TopP = in(0.05, 0.99) }},
		{"min_p", func(p *inference.Params) { p.MinP = in(0.001, 0.5) }},
		{"xtc", func(p *inference.Params) { p.XTC = inference.XTC{Probability: 1, Threshold: in(0.01, 0.6)} }},
		{"temperature", func(p *inference.Params) { p.Temperature = []float32{0, in(0.1, 3)}[r.IntN(2)] }},
		{"top_k", func(p *inference.Params) { p.TopK = r.IntN(sample.MaxTopK) }},
	}
}

func (o *samplerOracle) spread() float64 { return []float64{0.5, 2, 4}[o.random.IntN(3)] }

// breakerTokens are some that the breakers of options occur in, whole or cut.
func (o *samplerOracle) breakerTokens(t *testing.T) []int32 {
	t.Helper()
	var all []int32
	for _, text := range []string{"\n", ":", "\"", "*", "a", "the ", " and", "e q", "\n\n-", "zq+"} {
		tokens, err := o.Tokenize(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tokens...)
	}
	return all
}

// eachSamplerOracle tests with vocabularies of both families, byte-level and
// SentencePiece.
func eachSamplerOracle(t *testing.T, test func(*testing.T, *samplerOracle)) {
	for name, write := range map[string]func(io.Writer, synth.Config) error{"llama": synth.Llama, "gemma3": synth.Gemma3} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.gguf")
			var file bytes.Buffer
			if err := write(&file, synth.Config{Vocabulary: 1000}); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			o := newSamplerOracle(t, path)
			if o.Size() > sample.MaxTopK {
				t.Fatalf("a vocabulary of %d is cut before the step under test", o.Size())
			}
			test(t, o)
		})
	}
}

// TestSamplerStepsAreLlamas compares each step alone: the vocabulary is no
// larger than MaxTopK, so the cut that always applies cuts nothing.
func TestSamplerStepsAreLlamas(t *testing.T) {
	eachSamplerOracle(t, func(t *testing.T, o *samplerOracle) {
		breakers := o.breakerTokens(t)
		for _, option := range o.options() {
			t.Run(option.name, func(t *testing.T) {
				for range 60 {
					p := inference.Params{Temperature: 1, TopP: 1, TopK: sample.MaxTopK}
					option.set(&p)
					o.compare(t, p, o.past(breakers), o.row(o.spread()))
				}
			})
		}
	})
}

// TestSamplerChainIsLlamas compares the default chain with any of the steps.
func TestSamplerChainIsLlamas(t *testing.T) {
	eachSamplerOracle(t, func(t *testing.T, o *samplerOracle) {
		breakers := o.breakerTokens(t)
		for range 300 {
			p := inference.Params{Temperature: 1, TopP: 1}
			for _, option := range o.options() {
				if o.random.IntN(2) == 0 {
					option.set(&p)
				}
			}
			o.compare(t, p, o.past(breakers), o.row(o.spread()))
		}
	})
}

// TestDRYBreaksLikeLlama uses a real vocabulary and real text, where breakers
// are parts of many tokens.
func TestDRYBreaksLikeLlama(t *testing.T) {
	o := newSamplerOracle(t, enginetest.DemoModel(t))
	text := strings.Repeat("The cat sat on the mat: \"Well,\" it said.\n* one\n* two\nThe cat sat on the hat and the mat, and the cat sat on", 3)
	tokens, err := o.Tokenize(text)
	if err != nil {
		t.Fatal(err)
	}
	for i, breakers := range [][]string{nil, {}, {"the mat"}, {"on the"}, {"cat", "\n* "}, {"said.\n* one\n* two\nThe cat"}} {
		for _, n := range []int{len(tokens), len(tokens) - 1 - i, len(tokens) / 2} {
			p := inference.Params{Temperature: 1, TopP: 1, TopK: 200, DRY: inference.DRY{Multiplier: 0.8, Breakers: breakers}}
			o.compare(t, p, tokens[:n], o.row(2))
		}
	}
}

// TestMirostatIsLlamas compares what survives at many bounds (mu), and what
// becomes of mu over many tokens. mu shows only in the survivors, and depends
// on the tokens drawn, of which each side has its own; so the way there goes
// through rows of n equals, where whatever is drawn has the same surprise.
func TestMirostatIsLlamas(t *testing.T) {
	eachSamplerOracle(t, func(t *testing.T, o *samplerOracle) {
		r := o.random
		for i := range 200 {
			p := inference.Params{Temperature: 0.5 + r.Float32(), TopP: 1, Seed: uint64(i), Mirostat: inference.Mirostat{
				Version: 1 + i%2, Tau: 0.5 + 5*r.Float32(), Eta: 0.05 + r.Float32()/4,
			}}
			// A ban, since sums over the whole row must leave it out.
			p.LogitBias = []inference.TokenBias{{Token: 5, Bias: -100}, {Token: 6, Bias: 3}}
			chain := o.chain(t, p)
			s, err := sample.New(p, o)
			if err != nil {
				t.Fatal(err)
			}
			for range r.IntN(20) {
				row := o.equals(1 + r.IntN(60))
				if _, err := s.Sample(row); err != nil {
					t.Fatal(err)
				}
				apply(chain, row)
			}
			row := o.row(3)
			got, err := s.Distribution(row)
			if err != nil {
				t.Fatal(err)
			}
			if d := difference(got, apply(chain, row)); d != "" {
				t.Fatalf("%d, %+v: %s", i, p.Mirostat, d)
			}
		}
	})
}

// equals is a row of n likely tokens of equal probability and others far below
// them, not so far that their probability would vanish in float32.
func (o *samplerOracle) equals(n int) []float32 {
	row := make([]float32, o.Size())
	for i := range row {
		row[i] = -30 - float32(i%100)/10
	}
	for _, i := range o.random.Perm(o.Size() - 10)[:n] {
		row[i+10] = 0
	}
	return row
}
