// Package fourier transforms frames of sound whose length has only the factors 2, 3 and
// 5: 400 samples for a recogniser's spectrogram, 1200 for a voice's.
//
// It owns tables that never change after New. Pure: no I/O, no clock. A Plan may be used
// by several goroutines at once, each with its own slices. The speech engines call it.
package fourier

import (
	"fmt"
	"math"
)

// Plan holds the tables of one length.
type Plan struct {
	n       int
	factors []int
	twiddle []complex128 // exp(-2 pi i k / n)
}

// New makes the tables for frames of n samples, n >= 1.
func New(n int) (*Plan, error) {
	p := &Plan{n: n, twiddle: make([]complex128, max(n, 0))}
	left := n
	for _, f := range []int{4, 2, 3, 5} {
		for left > 1 && left%f == 0 {
			p.factors = append(p.factors, f)
			left /= f
		}
	}
	if n < 1 || left != 1 {
		return nil, fmt.Errorf("fourier: %d is no length made of the factors 2, 3 and 5", n)
	}
	for k := range p.twiddle {
		s, c := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		p.twiddle[k] = complex(c, s)
	}
	return p, nil
}

// Must is New for lengths that are written in the source.
func Must(n int) *Plan {
	p, err := New(n)
	if err != nil {
		panic(err)
	}
	return p
}

// Len is the length of a frame.
func (p *Plan) Len() int { return p.n }

// Bins is the number of coefficients of a real frame, n/2+1.
func (p *Plan) Bins() int { return p.n/2 + 1 }

// Forward writes the transform of src, both of length n, to dst. They must not overlap.
func (p *Plan) Forward(dst, src []complex128) { p.step(dst[:p.n], src, 1, p.factors) }

// step transforms n/stride samples of src, which lie stride apart.
func (p *Plan) step(dst, src []complex128, stride int, factors []int) {
	if len(dst) == 1 {
		dst[0] = src[0]
		return
	}
	radix := factors[0]
	part := len(dst) / radix
	for r := range radix {
		p.step(dst[r*part:(r+1)*part], src[r*stride:], stride*radix, factors[1:])
	}
	var in, out [5]complex128
	turn := p.n / radix // steps of twiddle for one radix-th of a circle
	for k := range part {
		for r := range radix {
			in[r] = dst[r*part+k] * p.twiddle[r*k*stride%p.n]
		}
		for q := range radix {
			sum := in[0]
			for r := 1; r < radix; r++ {
				sum += in[r] * p.twiddle[q*r*turn%p.n]
			}
			out[q] = sum
		}
		for q := range radix {
			dst[q*part+k] = out[q]
		}
	}
}

// Real writes the n/2+1 coefficients of the real frame src to dst. work has 2n places.
func (p *Plan) Real(dst []complex128, src []float64, work []complex128) {
	in, out := work[:p.n], work[p.n:2*p.n]
	for i, v := range src[:p.n] {
		in[i] = complex(v, 0)
	}
	p.Forward(out, in)
	copy(dst, out[:p.Bins()])
}

// Inverse writes the real frame whose n/2+1 coefficients src has to dst. What of the
// first and last coefficient is imaginary counts for nothing. work has 2n places.
func (p *Plan) Inverse(dst []float64, src []complex128, work []complex128) {
	in, out := work[:p.n], work[p.n:2*p.n]
	// The inverse of x is the conjugate of the transform of the conjugate.
	for k := range p.Bins() {
		c := complex(real(src[k]), -imag(src[k]))
		if k == 0 || 2*k == p.n {
			c = complex(real(src[k]), 0)
		}
		in[k] = c
		if k > 0 && 2*k < p.n {
			in[p.n-k] = complex(real(c), -imag(c))
		}
	}
	p.Forward(out, in)
	for i := range dst[:p.n] {
		dst[i] = real(out[i]) / float64(p.n)
	}
}
