package fourier

import (
	"math"
	"math/cmplx"
	"testing"

	"pgregory.net/rapid"
)

// lengths have the factors 2, 3 and 5 only.
var lengths = []int{1, 2, 3, 4, 5, 6, 8, 12, 15, 30, 60, 400, 512, 1200}

func naive(x []float64) []complex128 {
	n := len(x)
	out := make([]complex128, n/2+1)
	for k := range out {
		for i, v := range x {
			s, c := math.Sincos(-2 * math.Pi * float64(k*i%n) / float64(n))
			out[k] += complex(v*c, v*s)
		}
	}
	return out
}

func TestRealIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom(lengths).Draw(t, "n")
		p := Must(n)
		x := rapid.SliceOfN(rapid.Float64Range(-1, 1), n, n).Draw(t, "x")
		got, work := make([]complex128, p.Bins()), make([]complex128, 2*n)
		p.Real(got, x, work)
		for k, want := range naive(x) {
			if cmplx.Abs(got[k]-want) > 1e-9*float64(n) {
				t.Fatalf("length %d, coefficient %d: got %v, want %v", n, k, got[k], want)
			}
		}
		back := make([]float64, n)
		p.Inverse(back, got, work)
		for i := range x {
			if math.Abs(back[i]-x[i]) > 1e-12*float64(n) {
				t.Fatalf("length %d, sample %d: got %v, want %v", n, i, back[i], x[i])
			}
		}
	})
}

func TestLengthsThatCannotBe(t *testing.T) {
	for _, n := range []int{-1, 0, 7, 14, 1201} {
		if p, err := New(n); err == nil {
			t.Errorf("length %d: got a plan %v", n, p)
		}
	}
}
