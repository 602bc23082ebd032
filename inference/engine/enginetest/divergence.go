package enginetest

import "math"

// Divergence is the Kullback-Leibler divergence of q from p, given as logits.
func Divergence(p, q []float32) float64 {
	normal := func(x []float32) float64 {
		var top, sum float64 = math.Inf(-1), 0
		for _, v := range x {
			top = max(top, float64(v))
		}
		for _, v := range x {
			sum += math.Exp(float64(v) - top)
		}
		return top + math.Log(sum)
	}
	np, nq := normal(p), normal(q)
	var d float64
	for i := range p {
		lp := float64(p[i]) - np
		d += math.Exp(lp) * (lp - (float64(q[i]) - nq))
	}
	return d
}
