package hibari

import (
	"math"
	"math/cmplx"
	"math/rand/v2"

	"dure/audio/fourier"
)

var (
	plan = fourier.Must(window)
	hann = func() (w [window]float64) {
		for i := range w {
			w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/window)
		}
		return w
	}()
)

// spectrum is what the network says of a stretch of sound: five matrices of bins rows and
// frames columns, and a pitch for every frame.
type spectrum struct {
	frames              int
	harmonic, turn      []float32 // log of the strength of the pulses, and their turn
	noise, free, phases []float32 // log of the strengths of the noise and of the rest, and its phase
	pitch               []float32
}

// loudest keeps a wild prediction from becoming an infinity.
const loudest = 7

// wave makes the sound of a spectrum piece by piece.
type wave struct {
	s       spectrum
	source  []float64
	noise   *rand.Rand
	sum     []float64 // of the frames so far, from sample done of the padded sound
	weight  []float64 // of their windows
	frame   int       // next to be added
	in      []float64
	bins    []complex128
	work    []complex128
	emitted int // samples given out
}

func newWave(s spectrum) *wave {
	return &wave{
		s: s, source: pulses(s.pitch), noise: rand.New(rand.NewPCG(0x64757265, 0x766f696365)),
		sum: make([]float64, window), weight: make([]float64, window),
		in: make([]float64, window), bins: make([]complex128, bins), work: make([]complex128, 2*window),
	}
}

// next appends the next hop samples to dst; false at the end. The first frame's middle is
// the first sample, so two frames beyond a block are needed for it.
func (w *wave) next(dst []float32) ([]float32, bool) {
	if w.emitted >= w.s.frames*hop {
		return dst, false
	}
	for blocks := w.emitted/hop + 2; w.frame <= blocks; w.frame++ {
		if w.frame > 0 {
			copy(w.sum, w.sum[hop:])
			copy(w.weight, w.weight[hop:])
			clear(w.sum[window-hop:])
			clear(w.weight[window-hop:])
		}
		if w.frame < w.s.frames {
			w.add(w.frame)
		}
	}
	for i := range hop {
		dst = append(dst, float32(max(-1, min(1, w.sum[i]/max(w.weight[i], 1e-9)))))
	}
	w.emitted += hop
	return dst, true
}

// add adds frame f to the sum, which begins where that frame does.
func (w *wave) add(f int) {
	for i := range w.in {
		w.in[i] = w.sourceAt(f*hop-window/2+i) * hann[i] / hop
	}
	plan.Real(w.bins, w.in, w.work)
	for k := range w.bins {
		at := k*w.s.frames + f
		turn := math.Pi * math.Tanh(float64(w.s.turn[at]))
		c := w.bins[k] * cmplx.Rect(strength(w.s.harmonic[at]), turn)
		n := strength(w.s.noise[at])
		c += complex(n*w.noise.NormFloat64(), n*w.noise.NormFloat64())
		w.bins[k] = c + cmplx.Rect(strength(w.s.free[at]), float64(w.s.phases[at]))
	}
	plan.Inverse(w.in, w.bins, w.work)
	for i, v := range w.in {
		w.sum[i] += v * hann[i]
		w.weight[i] += hann[i] * hann[i]
	}
}

// sourceAt is the pulses' sample i, mirrored at both ends.
func (w *wave) sourceAt(i int) float64 {
	n := len(w.source)
	if n == 1 {
		return w.source[0]
	}
	for i < 0 || i >= n {
		if i < 0 {
			i = -i
		} else {
			i = 2*(n-1) - i
		}
	}
	return w.source[i]
}

func strength(log float32) float64 { return math.Exp(float64(min(log, loudest))) }
