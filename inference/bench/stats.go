package bench

import (
	"fmt"
	"math"
	"slices"
)

// Pairs are measurements of two sides taken in turn: A[i] belongs to B[i].
type Pairs struct{ A, B []float64 }

// Add appends one pair.
func (p *Pairs) Add(a, b float64) { p.A, p.B = append(p.A, a), append(p.B, b) }

// Summary of paired measurements.
type Summary struct {
	A, B     float64 `json:"-"` // medians
	Ratio    float64 // median of A[i]/B[i]
	Min, Max float64 // of the ratios
	N        int
}

// Summary computes the medians; zero values for no pairs.
func (p Pairs) Summary() Summary {
	if len(p.A) == 0 {
		return Summary{}
	}
	ratios := make([]float64, len(p.A))
	for i := range p.A {
		ratios[i] = p.A[i] / p.B[i]
	}
	return Summary{
		A: Median(p.A), B: Median(p.B), Ratio: Median(ratios),
		Min: slices.Min(ratios), Max: slices.Max(ratios), N: len(ratios),
	}
}

func (s Summary) String() string {
	return fmt.Sprintf("%.3f (%.3f..%.3f, %d pairs)", s.Ratio, s.Min, s.Max, s.N)
}

// Median of values; NaN for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	mid := len(v) / 2
	if len(v)%2 == 1 {
		return v[mid]
	}
	return (v[mid-1] + v[mid]) / 2
}
