package sample

import "math"

// candidate is a token that may still be drawn.
type candidate struct {
	logit float32
	token int32
}

// weight is the unnormalised probability of a logit at a temperature above 0,
// relative to the largest logit, which weighs exactly 1. It is exact for
// infinities: with a largest logit of +Inf, finite ones weigh 0.
func weight(logit, largest float32, temperature float64) float64 {
	if logit == largest {
		return 1
	}
	return math.Exp((float64(logit) - float64(largest)) / temperature)
}

// keepTopP keeps the shortest head of c whose probability, among c and at
// temperature 1, is at least p: never less than one candidate. p of 1 keeps
// all. c is sorted by falling logit.
func keepTopP(c []candidate, p float64) []candidate {
	if p >= 1 {
		return c
	}
	sum := 0.0
	for _, x := range c {
		sum += weight(x.logit, c[0].logit, 1)
	}
	head := 0.0
	for i, x := range c {
		head += weight(x.logit, c[0].logit, 1)
		if head >= p*sum {
			return c[:i+1]
		}
	}
	return c
}

// keepMinP keeps the candidates that are, at temperature 1, at least p times
// as likely as the first. p of 0 keeps all. c is sorted by falling logit.
func keepMinP(c []candidate, p float64) []candidate {
	if p <= 0 {
		return c
	}
	for i, x := range c {
		if weight(x.logit, c[0].logit, 1) < p {
			return c[:i]
		}
	}
	return c
}
