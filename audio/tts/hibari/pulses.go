package hibari

import "math"

const (
	// Rate is the voice's, in samples a second.
	Rate = 24000

	hop    = 300  // samples between two spectra: 12.5 ms
	window = 1200 // samples of one spectrum
	bins   = window/2 + 1

	lowestPitch     = 40    // Hz; below it a frame has no voice
	highestHarmonic = 11000 // Hz
)

// pulses makes hop samples for every frame from its pitch in Hz: all harmonics up to
// highestHarmonic with the same strength, silence where there is no voice. Between the
// middles of two frames the pitch moves in a straight line.
func pulses(pitch []float32) []float64 {
	out := make([]float64, len(pitch)*hop)
	at := func(k int) float64 { return float64(pitch[max(0, min(len(pitch)-1, k))]) }
	phase := 0.0 // in turns
	for i := range out {
		place := (float64(i)+0.5)/hop - 0.5 // in frames, from the middle of the first
		k := int(math.Floor(place))
		u := place - float64(k)
		f := at(k)*(1-u) + at(k+1)*u
		voiced := f > lowestPitch
		f = max(f, lowestPitch)
		if phase += f / Rate; phase >= 1 {
			phase -= math.Floor(phase)
		}
		if voiced {
			out[i] = harmonics(2*math.Pi*phase, math.Floor(highestHarmonic/f))
		}
	}
	return out
}

// harmonics is cos(t) + cos(2t) + ... + cos(nt).
func harmonics(t, n float64) float64 {
	s := 2 * math.Sin(t/2)
	if math.Abs(s) <= 2e-3 {
		return n // the limit, where all of them have their top
	}
	return math.Sin((n+0.5)*t)/s - 0.5
}
