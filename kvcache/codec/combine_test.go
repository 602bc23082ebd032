package codec

import (
	"testing"

	"pgregory.net/rapid"
)

// The assembly gives the reference's numbers, to the bit.
func TestCombine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.OneOf(rapid.IntRange(1, 70), rapid.SampledFrom([]int{64, 96, 128, 192, 256})).Draw(t, "width")
		n := rapid.IntRange(0, 70).Draw(t, "n")
		number := rapid.Float32Range(-100, 100)
		weights := rapid.SliceOfN(number, n, n).Draw(t, "weights")
		some := rapid.SliceOfN(number, 7, 7).Draw(t, "numbers")
		rows := make([]float32, n*width)
		for i := range rows {
			rows[i] = some[i%7] + float32(i%width)
		}
		a, b := make([]float32, width), make([]float32, width)
		combineGo(a, weights, rows)
		combine(b, weights, rows)
		for c := range a {
			if a[c] != b[c] {
				t.Fatalf("column %d: %v, not %v", c, b[c], a[c])
			}
		}
	})
}
