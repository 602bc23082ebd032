package codec

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"dure/gguf"
	"dure/kvcache/blob"
	"pgregory.net/rapid"
)

// heads of a made-up model.
type shape struct {
	count, dim int
	rotary     Rotary
}

// formFor is a form of layers of one shape.
func formFor(layers int, s shape, k, v gguf.TensorType, window, extra int, transposed, hybrid bool) (f Form) {
	add := func(window int) {
		p := blob.Pool{Streams: 1, Extra: extra, Window: window, Transposed: transposed}
		var hk, hv []Heads
		for range layers {
			p.Keys = append(p.Keys, blob.Row{Type: k, Width: s.count * s.dim})
			p.Values = append(p.Values, blob.Row{Type: v, Width: s.count * s.dim})
			hk = append(hk, Heads{s.count, s.dim, s.rotary, 0})
			hv = append(hv, Heads{s.count, s.dim, Rotary{}, 0})
		}
		f.Layout.Pools, f.Keys, f.Values = append(f.Layout.Pools, p), append(f.Keys, hk), append(f.Values, hv)
	}
	defer f.mix()
	add(0)
	if window > 0 {
		add(window)
	}
	if hybrid {
		r := &blob.Recurrent{Layers: 2 * layers}
		for range layers {
			r.Conv = append(r.Conv, blob.Row{Type: gguf.F32, Width: 24})
			r.Delta = append(r.Delta, blob.Row{Type: gguf.F32, Width: 256})
		}
		f.Layout.Recurrent = r
	}
	return f
}

// drawForm draws one of every kind.
func drawForm(t *rapid.T) Form {
	dim := rapid.SampledFrom([]int{32, 64}).Draw(t, "dim")
	s := shape{rapid.IntRange(1, 3).Draw(t, "heads"), dim, Rotary{
		Dims: rapid.SampledFrom([]int{0, 8, dim}).Draw(t, "dims"), Base: 10000, Scale: 1, Halves: rapid.Bool().Draw(t, "halves")}}
	types := []gguf.TensorType{gguf.F16, gguf.F32, gguf.Q8_0, gguf.Q4_0}
	k := rapid.SampledFrom(types).Draw(t, "keys")
	transposed := rapid.Bool().Draw(t, "transposed")
	if transposed {
		types = types[:2]
	}
	v := rapid.SampledFrom(types).Draw(t, "values")
	window := rapid.SampledFrom([]int{0, 0, 40}).Draw(t, "window")
	hybrid := window == 0 && rapid.Bool().Draw(t, "hybrid")
	return formFor(rapid.IntRange(1, 3).Draw(t, "layers"), s, k, v, window, rapid.SampledFrom([]int{0, 2, 3}).Draw(t, "extra"), transposed, hybrid)
}

// stateOf makes a state of n cells whose numbers look like those of a model:
// channels of different means and deviations.
func stateOf(f Form, n int, rng *rand.Rand) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(le.AppendUint32(nil, 0xAF143CD8), 7)
	for i, p := range f.Layout.Pools {
		cells, first := n, 0
		if p.Window > 0 {
			cells = min(n, p.Window)
			first = n - cells
		}
		b = le.AppendUint32(le.AppendUint32(b, 1), uint32(cells))
		for c := range cells {
			b = le.AppendUint32(le.AppendUint32(b, uint32(first+c)), 1)
			for e := range p.Extra {
				v := uint32(first + c)
				if e == 2 {
					v = rng.Uint32N(50000)
				}
				b = le.AppendUint32(b, v)
			}
			b = le.AppendUint32(b, 7)
		}
		transposed := uint32(0)
		if p.Transposed {
			transposed = 1
		}
		b = le.AppendUint32(le.AppendUint32(b, transposed), uint32(len(p.Keys)))
		for k, r := range p.Keys {
			b = le.AppendUint64(le.AppendUint32(b, uint32(r.Type)), uint64(r.Bytes()))
			b = appendNumbers(b, r, f.Keys[i][k], cells, false, rng)
		}
		for k, r := range p.Values {
			b = le.AppendUint32(b, uint32(r.Type))
			if p.Transposed {
				b = le.AppendUint32(le.AppendUint32(b, uint32(r.Type.BlockBytes())), uint32(r.Width))
			} else {
				b = le.AppendUint64(b, uint64(r.Bytes()))
			}
			b = appendNumbers(b, r, f.Values[i][k], cells, p.Transposed, rng)
		}
	}
	if r := f.Layout.Recurrent; r != nil {
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, 1), uint32(n-1)), 0)
		b = le.AppendUint32(le.AppendUint32(b, 0), uint32(r.Layers))
		for _, list := range [][]blob.Row{r.Conv, r.Delta} {
			for _, row := range list {
				b = le.AppendUint64(le.AppendUint32(b, uint32(row.Type)), uint64(row.Bytes()))
				b = appendNumbers(b, row, Heads{Count: 1, Dim: row.Width}, 1, false, rng)
			}
		}
	}
	return b
}

func appendNumbers(b []byte, r blob.Row, h Heads, n int, transposed bool, rng *rand.Rand) []byte {
	if !codable(r.Type) {
		for range n * r.Bytes() {
			b = append(b, byte(rng.Uint32N(40)))
		}
		return b
	}
	x := make([]float32, n*r.Width)
	for c := range r.Width {
		mean, dev := rng.NormFloat64()*3, math.Exp(rng.NormFloat64())
		for i := range n {
			x[i*r.Width+c] = float32(mean + dev*rng.NormFloat64())
		}
	}
	p := plane{row: r, cells: n, transposed: transposed}
	start := len(b)
	b = append(b, make([]byte, n*r.Bytes())...)
	for i := range n {
		writeRow(b[start:], x[i*r.Width:(i+1)*r.Width], &p, i)
	}
	return b
}
