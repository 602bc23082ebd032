package codec

import (
	"crypto/sha256"
	"fmt"
)

const (
	// mostSamples of a plane are taken, leastSamples are needed.
	mostSamples  = 8192
	leastSamples = 256
)

// Calibrate makes the basis of a model from states of real text, of f16 or f32:
// a few thousand tokens together. It takes seconds.
func Calibrate(f Form, states ...[]byte) (*Basis, error) {
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	var all []parts
	for i, s := range states {
		p, _, err := partOf(f, s)
		if err != nil {
			return nil, fmt.Errorf("calibrate: state %d: %w", i, err)
		}
		all = append(all, p)
	}
	b := &Basis{form: formSum(f), planes: map[planeID]*directions{}}
	err := eachPlane(f, func(id planeID, h Heads) error {
		v := newVariance(h)
		for i, s := range states {
			for k := range all[i].planes {
				if p := &all[i].planes[k]; p.pos != nil && (planeID{p.kind, p.pool, p.layer}) == id {
					if err := v.add(s, p, mostSamples/len(states)); err != nil {
						return err
					}
				}
			}
		}
		if v.samples < leastSamples {
			return fmt.Errorf("%w: %d tokens for %+v, want %d at least", ErrBasis, v.samples, id, leastSamples)
		}
		b.planes[id] = v.directions()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	b.sum = sha256.Sum256(b.body(f))
	return b, nil
}

// variance sums up what the rows of a plane have in common.
type variance struct {
	width, block int
	matrices     [][]float64
	samples      int
}

func newVariance(h Heads) *variance {
	v := &variance{width: h.Count * h.Dim, block: blockOf(h)}
	for range v.width / v.block {
		v.matrices = append(v.matrices, make([]float64, v.block*v.block))
	}
	return v
}

// add takes rows of a plane, of its whole length, as Encode sees them.
func (v *variance) add(state []byte, p *plane, most int) error {
	data := state[p.at : p.at+p.bytes()]
	if !isNumber(p.row.Type) || !tame(data, p.row.Type) {
		return fmt.Errorf("%w: cells of %v, or not finite; calibrate with cells of f16", ErrBasis, p.row.Type)
	}
	picked := sets(p.pos, firstRows, 0).body
	if stride := (len(picked) + most - 1) / max(1, most); stride > 1 {
		kept := picked[:0]
		for i := 0; i < len(picked); i += stride {
			kept = append(kept, picked[i])
		}
		picked = kept
	}
	x := make([]float32, len(picked)*v.width)
	pos := make([]int32, len(picked))
	for k, i := range picked {
		pos[k] = p.pos[i]
		readRow(x[k*v.width:(k+1)*v.width], data, p, int(i))
	}
	if p.kind == keys && p.heads.Rotary.Dims > 0 {
		newTurns(p.heads.Rotary, pos).turn(x, p.heads, true)
	}
	v.take(x, len(picked))
	return nil
}

func (v *variance) take(x []float32, n int) {
	mean := make([]float64, v.width)
	for i := range n {
		for c := range mean {
			mean[c] += float64(x[i*v.width+c]) / float64(n)
		}
	}
	d := make([]float64, v.block)
	for i := range n {
		for k, m := range v.matrices {
			at := k * v.block
			for c := range d {
				d[c] = float64(x[i*v.width+at+c]) - mean[at+c]
			}
			for a, da := range d {
				row := m[a*v.block : (a+1)*v.block]
				for c := a; c < v.block; c++ {
					row[c] += da * d[c]
				}
			}
		}
	}
	v.samples += n
}

func (v *variance) directions() *directions {
	d := &directions{block: v.block}
	for _, m := range v.matrices {
		for a := range v.block {
			for c := range a {
				m[a*v.block+c] = m[c*v.block+a]
			}
		}
		_, rows := eigen(m, v.block)
		half32 := make([]float32, len(rows))
		for i, x := range rows {
			half32[i] = half(toHalf(float32(x))) // as the file has it
		}
		d.add(half32)
	}
	return d
}
