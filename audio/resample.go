package audio

import (
	"fmt"
	"math"
	"sync"
)

// Limits of the rates that a Resampler takes, and of the phases of its filter: rates
// with nothing in common would need a table of megabytes.
const (
	MinRate   = 4000
	MaxRate   = 192000
	maxPhases = 1000
)

// Half of the filter's length in time, which is its group delay: an output sample can be
// had when so much input after its place is there.
const halfFilter = 0.002 // seconds

// Attenuation that the window is designed for, in dB. With 4 ms of filter the band between
// passed and stopped is 1.36 kHz wide.
const attenuation = 86

// Resampler changes the rate of a stream of mono sound by a windowed-sinc filter in
// polyphase form. Its output is aligned with its input: sample n of the output is the
// sound at n/to seconds, whatever pieces the input came in; only when it can be had lags,
// by Delay. How the input is split changes no bit of the output.
//
// Passed is what lies more than 0.85 kHz below half of the lower rate; stopped, by 80 dB
// and more, what lies more than 0.51 kHz above it. Not safe for use by two goroutines.
type Resampler struct {
	from, to int
	up, down int // to/from in lowest terms
	half     int // taps on each side
	taps     []float32
	buf      []float32 // input that is still needed
	base     int64     // place of buf[0] in the input, negative for the silence before it
	in, out  int64     // samples taken and given
}

// NewResampler makes one for rates in Hz.
func NewResampler(from, to int) (*Resampler, error) {
	for _, r := range []int{from, to} {
		if r < MinRate || r > MaxRate {
			return nil, fmt.Errorf("resample %d to %d Hz: rates must be from %d to %d", from, to, MinRate, MaxRate)
		}
	}
	g := gcd(from, to)
	r := &Resampler{from: from, to: to, up: to / g, down: from / g}
	if r.up > maxPhases {
		return nil, fmt.Errorf("resample %d to %d Hz: the rates have too little in common (%d phases, at most %d)", from, to, r.up, maxPhases)
	}
	if from == to {
		return r, nil
	}
	r.half = int(math.Round(halfFilter * float64(from)))
	r.taps = filterOf(from, to, r.up, r.half)
	r.Reset()
	return r, nil
}

// Reset forgets the past: the next sample is the first.
func (r *Resampler) Reset() {
	r.in, r.out = 0, 0
	if r.taps == nil {
		return
	}
	r.base = int64(-(r.half - 1))
	r.buf = append(r.buf[:0], make([]float32, r.half-1)...)
}

// Delay is how many input samples after its place an output sample needs.
func (r *Resampler) Delay() int { return r.half }

// Taken and Given count the samples since the beginning.
func (r *Resampler) Taken() int64 { return r.in }

// Given counts output samples.
func (r *Resampler) Given() int64 { return r.out }

// Feed takes input and appends to dst what can be computed of the output.
func (r *Resampler) Feed(dst, src []float32) []float32 {
	r.in += int64(len(src))
	if r.taps == nil {
		r.out += int64(len(src))
		return append(dst, src...)
	}
	r.buf = append(r.buf, src...)
	return r.compute(dst, math.MaxInt64)
}

// Flush appends the rest of the output, as if silence followed, and begins anew. In all
// the output has ceil(input * to / from) samples.
func (r *Resampler) Flush(dst []float32) []float32 {
	if r.taps != nil {
		total := (r.in*int64(r.up) + int64(r.down) - 1) / int64(r.down)
		r.buf = append(r.buf, make([]float32, r.half)...)
		dst = r.compute(dst, total)
	}
	r.Reset()
	return dst
}

// compute appends outputs up to the one numbered limit while there is input for them.
func (r *Resampler) compute(dst []float32, limit int64) []float32 {
	width := 2 * r.half
	place := r.out * int64(r.down)
	at, phase := place/int64(r.up), int(place%int64(r.up))
	// The window of an output at input place `at` begins half-1 before it.
	first := int(at - int64(r.half-1) - r.base)
	step, rest := r.down/r.up, r.down%r.up
	for first+width <= len(r.buf) && r.out < limit {
		dst = append(dst, dot(r.buf[first:first+width], r.taps[phase*width:(phase+1)*width]))
		r.out++
		first += step
		if phase += rest; phase >= r.up {
			phase -= r.up
			first++
		}
	}
	if first > 0 {
		gone := min(first, len(r.buf))
		r.buf = r.buf[:copy(r.buf, r.buf[gone:])]
		r.base += int64(gone)
	}
	return dst
}

// dot sums in four parts: the processor need not wait for one addition to begin the next.
func dot(x, h []float32) float32 {
	var a, b, c, d float32
	for len(x) >= 4 && len(h) >= 4 {
		a += x[0] * h[0]
		b += x[1] * h[1]
		c += x[2] * h[2]
		d += x[3] * h[3]
		x, h = x[4:], h[4:]
	}
	for i := range min(len(x), len(h)) {
		a += x[i] * h[i]
	}
	return (a + b) + (c + d)
}

var filters struct {
	sync.Mutex
	known map[[2]int][]float32
}

// filterOf gives the taps of a pair of rates, phase by phase. All resamplers of the pair
// share them.
func filterOf(from, to, up, half int) []float32 {
	filters.Lock()
	defer filters.Unlock()
	key := [2]int{from, to}
	if t := filters.known[key]; t != nil {
		return t
	}
	if filters.known == nil || len(filters.known) >= 64 {
		filters.known = map[[2]int][]float32{}
	}
	t := design(from, to, up, half)
	filters.known[key] = t
	return t
}

func design(from, to, up, half int) []float32 {
	length := 2 * float64(half) / float64(from)
	band := (attenuation - 7.95) / (14.36 * length) // Kaiser's formula, in Hz
	cutoff := float64(min(from, to))/2 - band/8
	scale := 2 * cutoff / float64(from)
	beta := 0.1102 * (attenuation - 8.7)
	width := 2 * half
	taps := make([]float32, up*width)
	row := make([]float64, width)
	for phase := range up {
		sum := 0.0
		for k := range row {
			// Distance of the tap's sample from the output's place, in input samples.
			x := float64(k-(half-1)) - float64(phase)/float64(up)
			row[k] = scale * sinc(scale*x) * kaiser(x/float64(half), beta)
			sum += row[k]
		}
		// Every phase passes a constant alike: else it would be heard as a tone.
		for k, v := range row {
			taps[phase*width+k] = float32(v / sum)
		}
	}
	return taps
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// kaiser is the window at x in [-1, 1].
func kaiser(x, beta float64) float64 {
	if x < -1 || x > 1 {
		return 0
	}
	return bessel(beta*math.Sqrt(1-x*x)) / bessel(beta)
}

// bessel is the modified Bessel function of the first kind and order 0.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1; k < 60; k++ {
		term *= x / (2 * float64(k)) * x / (2 * float64(k))
		sum += term
	}
	return sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
