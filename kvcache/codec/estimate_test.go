package codec

import (
	"math"
	"math/rand/v2"
	"testing"

	"dure/gguf"
	"dure/kvcache/blob"
)

// Most is what numbers of one normal distribution take, and no distribution of the
// same sum of squares takes more.
func TestMost(t *testing.T) {
	const cells, width = 1100, 64
	row := blob.Row{Type: gguf.F16, Width: width}
	f := Form{Layout: blob.Layout{Pools: []blob.Pool{{Streams: 1, Keys: []blob.Row{row}, Values: []blob.Row{row}}},
		Recurrent: &blob.Recurrent{Layers: 2, Conv: []blob.Row{{Type: gguf.F32, Width: 48}}, Delta: []blob.Row{{Type: gguf.F32, Width: 256}}}},
		Keys: [][]Heads{{{Count: 1, Dim: width}}}, Values: [][]Heads{{{Count: 1, Dim: width}}}}
	s := Span{From: 0, To: cells, State: true}
	rng := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		deviation func(channel int) float64
		least     float64 // of Most
	}{
		"all alike": {func(int) float64 { return 1 }, 0.93},
		"different": {func(c int) float64 { return math.Exp(float64(c%8) - 4) }, 0.3},
	} {
		state := stateOfNumbers(f, cells, rng, c.deviation)
		if s.Raw(f.Layout) != len(state) {
			t.Fatalf("%s: %d bytes, expected %d", name, len(state), s.Raw(f.Layout))
		}
		for _, class := range []Class{Exact, Near, NearSmall, Small} {
			coded, err := Encode(nil, state, f, class, nil)
			if err != nil {
				t.Fatal(err)
			}
			most := s.Most(f, class)
			if part := float64(len(coded)) / float64(most); part > 1 || class > Exact && part < c.least {
				t.Errorf("%s, %v: %d bytes, at most %d: %.3f", name, class, len(coded), most, part)
			}
		}
	}
}

// stateOfNumbers makes a state of one pool with a recurrent part.
func stateOfNumbers(f Form, cells int, rng *rand.Rand, deviation func(int) float64) []byte {
	b := appendU32(nil, 0xAF143CD8, 0, 1, uint32(cells))
	for i := range cells {
		b = appendU32(b, uint32(i), 1, 0)
	}
	b = appendU32(b, 0, 1)
	for range 2 {
		r := f.Layout.Pools[0].Keys[0]
		b = appendU32(b, uint32(r.Type), uint32(r.Bytes()), 0)
		for range cells {
			for c := range r.Width {
				h := toHalf(float32(deviation(c) * rng.NormFloat64()))
				b = append(b, byte(h), byte(h>>8))
			}
		}
	}
	rec := f.Layout.Recurrent
	b = appendU32(b, 1, uint32(cells-1), 0, 0, uint32(rec.Layers))
	for _, r := range []blob.Row{rec.Conv[0], rec.Delta[0]} {
		b = appendU32(b, uint32(r.Type), uint32(r.Bytes()), 0)
		for range r.Width {
			b = appendU32(b, math.Float32bits(float32(rng.NormFloat64())))
		}
	}
	return b
}

func appendU32(b []byte, v ...uint32) []byte {
	for _, x := range v {
		b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
	}
	return b
}
