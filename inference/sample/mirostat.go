package sample

import (
	"math"

	"dure/inference"
)

const (
	defaultTau = 5.0
	defaultEta = 0.1
	// estimateOver is how many of the likeliest tokens version 1 estimates the
	// slope of the distribution from, as in llama.cpp.
	estimateOver = 100
)

// mirostat steers the surprise of the text, in bits per token. See "Mirostat: A
// Neural Text Decoding Algorithm that Directly Controls Perplexity",
// arXiv:2007.14966.
type mirostat struct {
	version    int
	vocabulary float64
	tau, eta   float64
	mu         float64 // the bound on the surprise of the next token
}

// newMirostat returns nil where it is off.
func newMirostat(p inference.Mirostat, vocabulary int) *mirostat {
	if p.Version == 0 {
		return nil
	}
	m := &mirostat{version: p.Version, vocabulary: float64(vocabulary), tau: defaultTau, eta: defaultEta}
	if p.Tau != 0 {
		m.tau = float64(p.Tau)
	}
	if p.Eta != 0 {
		m.eta = float64(p.Eta)
	}
	m.mu = 2 * m.tau
	return m
}

// observe moves the bound after a token of probability p was drawn.
func (m *mirostat) observe(p float64) { m.mu -= m.eta * (-math.Log2(p) - m.tau) }

// keep keeps the head of c that the bound allows, never less than one
// candidate. rowWeight is the weight of the whole row relative to c[0].
func (m *mirostat) keep(c []candidate, temperature float64, rowWeight func() float64) []candidate {
	if m.version == 1 {
		return c[:m.count(c, temperature)]
	}
	row := math.Log2(rowWeight())
	for i, x := range c {
		if i > 0 && row-math.Log2(weight(x.logit, c[0].logit, temperature)) > m.mu {
			return c[:i]
		}
	}
	return c
}

// count is how many tokens have the wanted surprise on average, if their
// probabilities fall with a power of their rank.
func (m *mirostat) count(c []candidate, temperature float64) int {
	var tb, tt float64
	for i := range min(estimateOver, len(c)) - 1 {
		t := math.Log(float64(i+2) / float64(i+1))
		b := (float64(c[i].logit) - float64(c[i+1].logit)) / temperature
		tb += t * b
		tt += t * t
	}
	s := tb / tt
	e := s - 1
	k := math.Pow(e*math.Exp2(m.mu)/(1-math.Pow(m.vocabulary, -e)), 1/s)
	switch {
	case k >= float64(len(c)):
		return len(c)
	case k >= 1:
		return int(k)
	}
	return 1 // also where infinite logits make k NaN
}
