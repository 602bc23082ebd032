package sample

import (
	"errors"
	"math"
	"slices"
	"testing"

	"dure/inference"

	"pgregory.net/rapid"
)

// only allows the tokens in it, and counts how often all of them were asked for.
type only struct {
	set  map[int32]bool
	free bool
	size int
	all  int
}

func (o *only) Free() bool              { return o.free }
func (o *only) Allows(token int32) bool { return o.set[token] }
func (o *only) Accept(int32)            {}
func (o *only) Allowed() []uint64 {
	o.all++
	out := make([]uint64, (o.size+63)/64)
	for t := range o.set {
		out[t/64] |= 1 << (t % 64)
	}
	return out
}

// A constraint is as if the logits of all other tokens were -Inf.
func TestConstraintsMaskTheRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 600).Draw(t, "size")
		row := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float32 {
			return float32(rapid.IntRange(-40, 40).Draw(t, "logit")) / 4
		}), size, size).Draw(t, "row")
		c := &only{set: map[int32]bool{}, size: size, free: rapid.IntRange(0, 9).Draw(t, "free") == 0}
		for range rapid.SampledFrom([]int{0, 1, 3, size, 3 * size}).Draw(t, "allowed") {
			c.set[int32(rapid.IntRange(0, size-1).Draw(t, "token"))] = true
		}
		p := inference.Params{
			Temperature: rapid.SampledFrom([]float32{0, 0.5, 1}).Draw(t, "temperature"), TopP: rapid.SampledFrom([]float32{0.5, 1}).Draw(t, "top_p"),
			TopK: rapid.SampledFrom([]int{0, 1, 5, 100}).Draw(t, "top_k"), MinP: rapid.SampledFrom([]float32{0, 0.1}).Draw(t, "min_p"),
			TypicalP: rapid.SampledFrom([]float32{0, 0.6}).Draw(t, "typical"),
		}
		past := rapid.SliceOfN(rapid.Int32Range(0, int32(size)-1), 0, 20).Draw(t, "past")
		if rapid.Bool().Draw(t, "penalties") {
			p.Penalties.Repeat = 1.3
			p.LogitBias = []inference.TokenBias{{Token: 0, Bias: -100}, {Token: int32(size - 1), Bias: 3}}[:min(size, 2)]
		}
		masked := slices.Clone(row)
		for i := range masked {
			if !c.free && !c.set[int32(i)] {
				masked[i] = -inf
			}
		}
		plain, held := sampler(t, p), sampler(t, p)
		held.Constrain(c)
		plain.Prompt(past)
		held.Prompt(past)
		want, wantErr := plain.Distribution(masked)
		got, err := held.Distribution(row)
		if !errors.Is(err, wantErr) || len(got) != len(want) {
			t.Fatalf("%d tokens, %v; want %d, %v", len(got), err, len(want), wantErr)
		}
		for i := range got {
			if got[i].Token != want[i].Token || math.Abs(float64(got[i].Logprob-want[i].Logprob)) > 1e-6 {
				t.Fatalf("place %d: %+v, want %+v", i, got[i], want[i])
			}
		}
		drawn, err := held.Sample(row)
		if !errors.Is(err, wantErr) || err == nil && !c.free && !c.set[drawn] {
			t.Fatalf("token %d, %v", drawn, err)
		}
	})
}

func sampler(t *rapid.T, p inference.Params) *Sampler {
	s, err := New(p, words{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// To ask for all that is allowed costs more than all the rest: it is only done where
// what is likely is excluded.
func TestLikelyTokensAreAskedAboutAlone(t *testing.T) {
	row := make([]float32, 5000)
	c := &only{set: map[int32]bool{}, size: len(row)}
	for i := range row {
		row[i] = float32(i % 977)
		c.set[int32(i)] = i%977 != 976
	}
	for _, p := range []inference.Params{{TopP: 1}, {Temperature: 1, TopP: 0.9}} {
		s := must(t, p)
		s.Constrain(c)
		if _, err := s.Sample(row); err != nil || c.all > 0 {
			t.Errorf("%+v: %v, %d masks", p, err, c.all)
		}
	}
	c.set = map[int32]bool{7: true}
	s := must(t, inference.Params{TopP: 1})
	s.Constrain(c)
	if got, err := s.Sample(row); got != 7 || err != nil || c.all != 1 {
		t.Errorf("token %d, %v, %d masks", got, err, c.all)
	}
}

func TestConstrainedMirostat(t *testing.T) {
	for version := 1; version <= 2; version++ {
		s := must(t, withMirostat(inference.Params{Temperature: 1, TopP: 1}, version))
		c := &only{set: map[int32]bool{}, size: 3000}
		for i := range int32(500) {
			c.set[3*i] = true
		}
		s.Constrain(c)
		row := make([]float32, 3000)
		for range 200 {
			got, err := s.Sample(row)
			if err != nil || !c.set[got] {
				t.Fatalf("version %d: token %d, %v", version, got, err)
			}
		}
	}
}
