package swarm

import (
	"math"
	"slices"
	"time"
)

// Spread of a measured quantity, in the unit of its values. All zero where N is.
type Spread struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// NewSpread sorts a copy of values. Percentiles are values that occurred: the
// smallest with at least that share of all at or below it.
func NewSpread(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return Spread{N: len(v), Mean: sum / float64(len(v)), P50: rank(v, 50), P95: rank(v, 95), P99: rank(v, 99), Max: v[len(v)-1]}
}

func rank(sorted []float64, percent int) float64 {
	// In integers: 0.95 * 20 is not 19 in floating point.
	i := (len(sorted)*percent+99)/100 - 1
	return sorted[max(i, 0)]
}

// Union is how many tokens lie in the prefix tree of all prompts: what a server
// reads that reads each shared prefix once and forgets nothing.
func Union(prompts [][]int32) int {
	sorted := slices.Clone(prompts)
	slices.SortFunc(sorted, slices.Compare[[]int32])
	// Among sorted prompts, each shares most with the one before it.
	total := 0
	var last []int32
	for _, p := range sorted {
		total += len(p) - common(last, p)
		last = p
	}
	return total
}

// common is the length of the prefix that both have.
func common(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// ratio is a/b; 0 where b is not positive or either is no number.
func ratio(a, b float64) float64 {
	if b <= 0 || math.IsNaN(a) || math.IsNaN(b) {
		return 0
	}
	return a / b
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
