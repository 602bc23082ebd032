package whisper

import (
	"math"

	"dure/audio/fourier"
)

const (
	// Rate is what the model hears, in samples a second.
	Rate = 16000
	// Longest is how many samples the model hears at once: 30 seconds.
	Longest = 30 * Rate

	melHop    = 160 // samples between two frames
	melWindow = 400
	melMax    = Longest / melHop
)

var (
	melPlan = fourier.Must(melWindow)
	melHann = func() (w [melWindow]float64) {
		for i := range w {
			w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/melWindow)
		}
		return w
	}()
)

// melBand is one filter: the first bin it looks at, and its weights from there on.
type melBand struct {
	first   int
	weights []float64
}

// melBands makes n filters from 0 to 8000 Hz on Slaney's scale: even steps up to 1 kHz,
// then even ratios; each has the same area.
func melBands(n int) []melBand {
	const knee, step = 1000.0, 200.0 / 3
	ratio := math.Log(6.4) / 27
	toMel := func(hz float64) float64 {
		if hz < knee {
			return hz / step
		}
		return knee/step + math.Log(hz/knee)/ratio
	}
	toHz := func(mel float64) float64 {
		if mel < knee/step {
			return mel * step
		}
		return knee * math.Exp(ratio*(mel-knee/step))
	}
	edge := func(i int) float64 { return toHz(toMel(Rate/2) * float64(i) / float64(n+1)) }
	bands := make([]melBand, n)
	for i := range bands {
		low, mid, high := edge(i), edge(i+1), edge(i+2)
		for bin := range melPlan.Bins() {
			hz := float64(bin) * Rate / melWindow
			w := min((hz-low)/(mid-low), (high-hz)/(high-mid))
			if w <= 0 {
				continue
			}
			if bands[i].weights == nil {
				bands[i].first = bin
			}
			bands[i].weights = append(bands[i].weights, w*2/(high-low))
		}
	}
	return bands
}

// spectrogram is the model's view of at most Longest samples: rows of bands, each with
// frames columns; frames beyond the sound are silence. frames must be at most melMax.
func spectrogram(pcm []float32, bands []melBand, frames int) []float32 {
	out := make([]float32, len(bands)*frames)
	const floor = -10 // log10 of the smallest power
	for i := range out {
		out[i] = floor
	}
	frame := make([]float64, melWindow)
	coefficients := make([]complex128, melPlan.Bins())
	power := make([]float64, melPlan.Bins())
	work := make([]complex128, 2*melWindow)
	top := math.Inf(-1)
	heard := min(frames, (len(pcm)+melWindow/2+melHop-1)/melHop)
	for f := range heard {
		for i := range frame {
			frame[i] = sampleAt(pcm, f*melHop-melWindow/2+i) * melHann[i]
		}
		melPlan.Real(coefficients, frame, work)
		for k, c := range coefficients {
			power[k] = real(c)*real(c) + imag(c)*imag(c)
		}
		for b, band := range bands {
			sum := 0.0
			for i, w := range band.weights {
				sum += w * power[band.first+i]
			}
			v := math.Log10(max(sum, 1e-10))
			top = max(top, v)
			out[b*frames+f] = float32(v)
		}
	}
	least := float32(max(top-8, floor))
	for i, v := range out {
		out[i] = (max(v, least) + 4) / 4
	}
	return out
}

// sampleAt mirrors the sound at its beginning and is silent after its end.
func sampleAt(pcm []float32, i int) float64 {
	if i < 0 {
		i = -i
	}
	if i >= len(pcm) {
		return 0
	}
	return float64(pcm[i])
}
