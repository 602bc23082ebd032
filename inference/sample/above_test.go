package sample

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Both ways agree on where the first block begins that has a logit above the bound, at
// every length and with what compares with nothing.
func TestAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	odd := []float32{float32(math.NaN()), float32(math.Inf(-1)), float32(math.Inf(1)), 0, float32(math.Copysign(0, -1))}
	for range 20_000 {
		row := make([]float32, r.IntN(300))
		for i := range row {
			row[i] = -r.Float32()
			if r.IntN(20) == 0 {
				row[i] = odd[r.IntN(len(odd))]
			}
		}
		bound := []float32{0, -0.01, -0.5, float32(math.Inf(-1)), float32(math.Inf(1)), float32(math.NaN())}[r.IntN(6)]
		first := len(row)
		for i, v := range row {
			if v > bound {
				first = i
				break
			}
		}
		for name, find := range map[string]func([]float32, float32) int{"go": aboveGo, "fast": above} {
			at := find(row, bound)
			if at > first || at+stride <= first || first == len(row) && at != first || at < len(row) && first >= at+stride {
				t.Fatalf("%s: %d logits, bound %v: block at %d, the first above it is %d", name, len(row), bound, at, first)
			}
		}
	}
}
