package kv

import "math"

// logSoftmax turns logits into natural logarithms of probabilities, in dst, which is
// as long.
func logSoftmax(dst, logits []float32) {
	n := normaliser(logits)
	for i, v := range logits {
		dst[i] = minus(v, n)
	}
}

// minus is rounded alike on both sides of a comparison, so that equal logits differ by
// exactly nothing.
func minus(logit float32, n float64) float32 { return float32(float64(logit) - n) }

// normaliser is the logarithm of the sum of exponentials.
func normaliser(logits []float32) float64 {
	top := float32(math.Inf(-1))
	for _, v := range logits {
		top = max(top, v)
	}
	if math.IsInf(float64(top), 0) {
		return float64(top) // nothing is possible, or one thing alone
	}
	var sum float64
	for _, v := range logits {
		if d := v - top; d > -60 { // what is below adds nothing to a float64
			sum += math.Exp(float64(d))
		}
	}
	return float64(top) + math.Log(sum)
}

// unlikely is a logarithm of a probability below which a token adds less to a
// divergence than float32 logits can tell.
const unlikely = -30

// divergence is the Kullback-Leibler divergence, in nats, of a distribution given as
// logits from the reference, given as logarithms of probabilities; never negative. It
// is infinite where the reference expects what the other excludes, and NaN where a
// logit is no number.
func divergence(reference, logits []float32) float64 {
	n := normaliser(logits)
	var d float64
	for i, lp := range reference {
		if lp > unlikely {
			d += math.Exp(float64(lp)) * float64(lp-minus(logits[i], n))
		}
	}
	if d < 0 { // rounding
		return 0
	}
	return d
}

// likeliest is the index of the largest value, the first of equal ones.
func likeliest(values []float32) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}

// logprob of one token by its logits.
func logprob(logits []float32, token int32) float64 {
	return float64(minus(logits[token], normaliser(logits)))
}
