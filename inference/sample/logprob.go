package sample

import (
	"fmt"
	"math"

	"dure/inference"
)

// Logprobs returns the logarithms of probabilities in a row before any sampling
// step: of token, and of the top likeliest tokens by falling probability, lower
// indices first where they tie. Bytes are left to the caller. Top has fewer
// than top tokens where the row has not as many above -Inf.
//
// It may be called only for requests with Params.Logprobs. It reads the row
// twice and allocates the answer only. A row without a usable logit is
// ErrNoToken.
func (s *Sampler) Logprobs(logits []float32, token int32, top int) (inference.TokenLogprob, error) {
	var out inference.TokenLogprob
	if token < 0 || int(token) >= len(logits) {
		return out, fmt.Errorf("sample: logprob of token %d in a row of %d", token, len(logits))
	}
	r := s.likeliest
	r.k = min(max(top, 1), inference.MaxTopLogprobs) // one is needed for the largest logit
	r.collect(logits)
	if len(r.keys) == 0 {
		return out, ErrNoToken
	}
	largest := r.keys[0].logit()
	sum := math.Log(rowWeight(logits, largest, 1))
	of := func(v float32) float32 { return logprob(v, largest, 1, sum) }
	out.Candidate = inference.Candidate{Token: token, Logprob: of(logits[token])}
	if top <= 0 {
		return out, nil
	}
	out.Top = make([]inference.Candidate, len(r.keys))
	for i, k := range r.keys {
		out.Top[i] = inference.Candidate{Token: k.token(), Logprob: of(k.logit())}
	}
	return out, nil
}

// logprob is the logarithm of a logit's probability at a temperature, where the
// weights relative to the largest logit sum to e^sum.
func logprob(v, largest float32, temperature, sum float64) float32 {
	x := -sum
	if v != largest { // equal infinities have no difference
		x += (float64(v) - float64(largest)) / temperature
	}
	if !(x > inference.MinLogprob) {
		return inference.MinLogprob
	}
	return float32(x)
}

// Sums over a vocabulary take one exponential per token, which is what they
// cost. The one here is faster than math.Exp, with a relative error below
// 1e-12: 2^(n/256) from a table times a short series.
const expSteps = 256

var expTable = func() (t [expSteps]uint64) {
	for i := range t {
		t[i] = math.Float64bits(math.Exp2(float64(i) / expSteps))
	}
	return t
}()

// negligible is the exponent below which a token adds nothing to a sum that is
// at least 1, however many there are.
const negligible = -60

// rowWeight is the sum of the weights of a row's logits at a temperature above
// 0, relative to the largest of them. NaN weighs nothing, and so does what is
// above largest.
func rowWeight(logits []float32, largest float32, temperature float64) float64 {
	scale := 1 / temperature
	if math.IsInf(float64(largest), 1) || math.IsInf(scale, 1) {
		sum := 0.0
		for _, v := range logits {
			sum += fastWeight(v, largest, scale)
		}
		return sum
	}
	sum, high := 0.0, float64(largest)
	for _, v := range logits {
		if x := (float64(v) - high) * scale; x <= 0 && x >= negligible {
			sum += fastExp(x)
		}
	}
	return sum
}

// fastWeight is a token's part in rowWeight: the same bits, so that it can be
// taken out again.
func fastWeight(logit, largest float32, scale float64) float64 {
	if logit == largest {
		return 1
	}
	if x := (float64(logit) - float64(largest)) * scale; x <= 0 && x >= negligible {
		return fastExp(x)
	}
	return 0
}

// fastExp is e^x for negligible <= x <= 0.
func fastExp(x float64) float64 {
	const round = 3 << 51 // adding and taking it away rounds to a whole number n
	y := x * (expSteps / math.Ln2)
	whole := y + round
	n := math.Float64bits(whole) // its lowest bits are those of n
	r := (y - (whole - round)) * (math.Ln2 / expSteps)
	return math.Float64frombits(expTable[n%expSteps]+n/expSteps<<52) * (1 + r*(1+r*(0.5+r*(1.0/6))))
}
