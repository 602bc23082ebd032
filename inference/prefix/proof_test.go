package prefix

import (
	"encoding/binary"
	"math"

	"dure/kvcache/blob"
)

// proofs know what sequences held that were computed, token by token: a sequence
// that is put together again must hold the same. What belongs to other tokens
// differs by far more than another order of sums does.
type proofs struct {
	recurrent bool                 // the model has states that can be told apart
	rows      map[uint64][]float32 // by path up to and including a position
	states    map[uint64][]float32 // by path
	// apart is the least distance of neighbours of which each stands for another
	// path, far the largest of what must be the same.
	apart, far float64
	checked    int
	// wrong is more than numerical noise, or than what may be lost, and less than what
	// other tokens give.
	wrong float64
}

func newProofs() *proofs {
	return &proofs{rows: map[uint64][]float32{}, states: map[uint64][]float32{}, apart: math.Inf(1), wrong: 0.02}
}

// paths are numbers of all beginnings of tokens.
func paths(tokens []int32) []uint64 {
	out := make([]uint64, len(tokens))
	h := uint64(1)
	for i, t := range tokens {
		h ^= uint64(t) + 0x9e3779b97f4a7c15
		h *= 0xbf58476d1ce4e5b9
		h ^= h >> 29
		out[i] = h
	}
	return out
}

// holds proves that a sequence holds tokens, and remembers what of them is new.
func (p *proofs) holds(r *rig, seq int, tokens []int32) {
	r.t.Helper()
	if len(tokens) == 0 {
		return
	}
	at := paths(tokens)
	if r.c.Opaque() == nil {
		b, err := r.c.read(seq, 0, blob.Whole)
		if err != nil {
			r.t.Fatal(err)
		}
		p.cells(r, seq, b, tokens, at)
	}
	if p.recurrent {
		data, err := r.ctx.State(nil, seq, flags(blob.Partial))
		if err != nil {
			r.t.Fatal(err)
		}
		// The bytes end with the state of the last recurrent layer's last head.
		p.same(r, p.states, "state", seq, len(tokens), at[len(at)-1], single(data[len(data)-4*stateFloats:]))
	}
	p.checked++
}

const stateFloats = 32 * 32

// cells proves the rows of the last layer, which depend on all that lay before.
func (p *proofs) cells(r *rig, seq int, b *blob.Blob, tokens []int32, at []uint64) {
	r.t.Helper()
	pool := r.c.layout.Pools[0]
	last, seen := len(pool.Keys)-1, make([]bool, len(tokens))
	for i, c := range b.All(0) {
		switch {
		case int(c.Pos) >= len(tokens) || seen[c.Pos]:
			r.t.Fatalf("sequence %d of %d tokens holds position %d, or holds it twice", seq, len(tokens), c.Pos)
		case pool.Extra == 3 && c.Token != tokens[c.Pos]:
			r.t.Fatalf("sequence %d holds token %d at %d, not %d", seq, c.Token, c.Pos, tokens[c.Pos])
		}
		seen[c.Pos] = true
		row := append(append([]byte{}, b.Key(0, last, i)[:16]...), b.Value(0, last, i).Append(nil)[:16]...)
		p.same(r, p.rows, "row", seq, int(c.Pos), at[c.Pos], half(row))
	}
	for pos, ok := range seen {
		if !ok {
			r.t.Fatalf("sequence %d of %d tokens does not hold position %d", seq, len(tokens), pos)
		}
	}
}

func (p *proofs) same(r *rig, known map[uint64][]float32, what string, seq, pos int, path uint64, got []float32) {
	r.t.Helper()
	if want, ok := known[path]; !ok {
		known[path] = got
	} else if d := distance(want, got); !(d < p.wrong) {
		r.t.Fatalf("the %s of sequence %d at %d is of other tokens: it differs by %g", what, seq, pos, d)
	} else {
		p.far = max(p.far, d)
	}
}

// sharp proves that the proofs would notice: those of other paths differ.
func (p *proofs) sharp(r *rig) {
	r.t.Helper()
	for _, known := range []map[uint64][]float32{p.rows, p.states} {
		var before []float32
		near, n := 0, 0
		for _, x := range known {
			if before != nil {
				d := distance(before, x)
				p.apart = min(p.apart, d)
				n++
				if d < 2*min(p.wrong, 0.02) {
					near++
				}
			}
			before = x
			if n == 2000 {
				break
			}
		}
		if near > n/100 {
			r.t.Errorf("%d of %d neighbours are hardly different: the proof is blunt", near, n)
		}
	}
}

// distance of two vectors, for their size.
func distance(a, b []float32) float64 {
	var d, n float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		d += (x - y) * (x - y)
		n += max(x*x, y*y)
	}
	if n == 0 {
		return 0
	}
	return math.Sqrt(d / n)
}

func single(data []byte) []float32 {
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

func half(data []byte) []float32 {
	out := make([]float32, len(data)/2)
	for i := range out {
		h := binary.LittleEndian.Uint16(data[2*i:])
		e, m := int(h>>10&31), float64(h&1023)
		x := math.Ldexp(1024+m, e-25)
		if e == 0 {
			x = math.Ldexp(m, -24)
		}
		if h>>15 == 1 {
			x = -x
		}
		out[i] = float32(x)
	}
	return out
}
