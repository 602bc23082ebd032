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

// keepTypical keeps the candidates whose information is nearest to the mean of
// it, nearest first, until their probability among c exceeds p (0 < p < 1); the
// likelier one first where two are as near. The order of c stays. scores is
// scratch of at least len(c).
func keepTypical(c []candidate, p float64, scores []key) []candidate {
	sum, weighted := 0.0, 0.0 // weighted sums -w ln w; of no weight it is 0
	for _, x := range c {
		w := weight(x.logit, c[0].logit, 1)
		sum += w
		if w > 0 {
			weighted -= w * math.Log(w)
		}
	}
	// With information ln(sum) - ln(w), the mean is ln(sum) + weighted/sum, and
	// ln(sum) falls out of the difference.
	mean := weighted / sum
	scores = scores[:0]
	for i, x := range c {
		distance := math.Abs(-math.Log(weight(x.logit, c[0].logit, 1)) - mean)
		scores = append(scores, key(math.Float32bits(float32(distance)))<<32|key(i))
	}
	sortKeys(scores)
	head, n := 0.0, 0
	for n < len(scores) && head <= p*sum {
		head += weight(c[scores[n].token()].logit, c[0].logit, 1)
		n++
	}
	for i, x := range scores[:n] {
		scores[i] = key(x.token())
	}
	sortKeys(scores[:n])
	for i, x := range scores[:n] {
		c[i] = c[x.token()]
	}
	return c[:n]
}

// maxThreshold is the largest threshold at which two tokens can be above it.
const maxThreshold = 0.5

// dropTopChoices drops the candidates that have, among c and at temperature 1,
// at least the probability threshold, but for the least likely of them. c is
// sorted by falling logit.
func dropTopChoices(c []candidate, threshold float64) []candidate {
	sum := 0.0
	for _, x := range c {
		sum += weight(x.logit, c[0].logit, 1)
	}
	n := 0
	for n < len(c) && weight(c[n].logit, c[0].logit, 1) >= threshold*sum {
		n++
	}
	return c[max(n-1, 0):]
}
