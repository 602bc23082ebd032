package codec

import "math"

// turns are the cosines and sines of all pairs at the positions of some rows.
type turns struct {
	rotary   Rotary
	pos      []int32
	cos, sin []float32 // row by row
}

// newTurns computes them once for all layers that share positions and angles.
func newTurns(r Rotary, pos []int32) *turns {
	pairs := r.Dims / 2
	t := &turns{r, pos, make([]float32, len(pos)*pairs), make([]float32, len(pos)*pairs)}
	speed := make([]float64, pairs)
	for k := range speed {
		speed[k] = r.Scale * math.Pow(r.Base, -2*float64(k)/float64(r.Dims))
	}
	for i, p := range pos {
		for k, v := range speed {
			sin, cos := math.Sincos(float64(p) * v)
			if math.IsNaN(sin) || math.IsNaN(cos) { // of a senseless base: not turned
				sin, cos = 0, 1
			}
			t.cos[i*pairs+k], t.sin[i*pairs+k] = float32(cos), float32(sin)
		}
	}
	return t
}

// rows [from, to) of them.
func (t *turns) rows(from, to int) *turns {
	pairs := t.rotary.Dims / 2
	return &turns{t.rotary, t.pos[from:to], t.cos[from*pairs : to*pairs], t.sin[from*pairs : to*pairs]}
}

// turn turns the heads of each row by their position, or back.
func (t *turns) turn(x []float32, h Heads, back bool) {
	pairs := t.rotary.Dims / 2
	width := h.Count * h.Dim
	sign := float32(1)
	if back {
		sign = -1
	}
	for i := range t.pos {
		cos, sin := t.cos[i*pairs:(i+1)*pairs], t.sin[i*pairs:(i+1)*pairs]
		row := x[i*width : (i+1)*width]
		for ; len(row) > 0; row = row[h.Dim:] {
			if t.rotary.Halves {
				turnHalves(row[:pairs], row[pairs:2*pairs], cos, sin, sign)
			} else {
				turnPairs(row[:2*pairs], cos, sin, sign)
			}
		}
	}
}

func turnHalves(a, b, cos, sin []float32, sign float32) {
	b, cos, sin = b[:len(a)], cos[:len(a)], sin[:len(a)]
	for k, u := range a {
		v, c, s := b[k], cos[k], sign*sin[k]
		a[k], b[k] = u*c-v*s, u*s+v*c
	}
}

func turnPairs(row, cos, sin []float32, sign float32) {
	cos, sin = cos[:len(row)/2], sin[:len(row)/2]
	for k, c := range cos {
		pair := row[2*k : 2*k+2 : 2*k+2]
		u, v, s := pair[0], pair[1], sign*sin[k]
		pair[0], pair[1] = u*c-v*s, u*s+v*c
	}
}
