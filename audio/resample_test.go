package audio

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var pairs = [][2]int{
	{24000, 16000}, {16000, 24000}, {24000, 8000}, {8000, 24000}, {8000, 16000}, {16000, 8000},
	{48000, 24000}, {24000, 48000}, {48000, 16000}, {16000, 48000}, {48000, 8000}, {8000, 48000},
	{22050, 24000}, {44100, 24000}, {24000, 24000},
}

// sweep is a tone that rises evenly from low to high Hz in seconds, at time t.
func sweep(low, high, seconds, t float64) float64 {
	return 0.8 * math.Sin(2*math.Pi*(low*t+(high-low)*t*t/(2*seconds)))
}

func resampled(t testing.TB, from, to int, in []float32) []float32 {
	r, err := NewResampler(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return r.Flush(r.Feed(nil, in))
}

// What is passed comes out as if the sound had been sampled at the new rate.
func TestResamplerKeepsSweep(t *testing.T) {
	for _, p := range pairs {
		t.Run(fmt.Sprintf("%d-%d", p[0], p[1]), func(t *testing.T) {
			const seconds = 2.0
			from, to := float64(p[0]), float64(p[1])
			high := min(from, to)/2 - 870
			in := make([]float32, int(seconds*from))
			for i := range in {
				in[i] = float32(sweep(50, high, seconds, float64(i)/from))
			}
			out := resampled(t, p[0], p[1], in)
			if want := int(math.Ceil(seconds * to)); len(out) != want {
				t.Fatalf("%d samples, want %d", len(out), want)
			}
			var signal, noise float64
			edge := int(0.01 * to) // the sound begins and ends at once there
			for i := edge; i < len(out)-edge; i++ {
				want := sweep(50, high, seconds, float64(i)/to)
				signal += want * want
				noise += (float64(out[i]) - want) * (float64(out[i]) - want)
			}
			snr := 10 * math.Log10(signal/noise)
			t.Logf("%.1f dB", snr)
			if snr < 80 {
				t.Errorf("signal to noise is %.1f dB, want at least 80", snr)
			}
		})
	}
}

// What the new rate cannot hold does not come back as another tone.
func TestResamplerStopsAliases(t *testing.T) {
	for _, p := range pairs {
		if p[0] <= p[1] {
			continue
		}
		for hz := float64(p[1])/2 + 520; hz < float64(p[0])/2; hz += 397 {
			in := make([]float32, p[0]/2)
			for i := range in {
				in[i] = float32(0.8 * math.Sin(2*math.Pi*hz*float64(i)/float64(p[0])))
			}
			out := resampled(t, p[0], p[1], in)
			var most float64
			for _, v := range out[p[1]/100 : len(out)-p[1]/100] {
				most = max(most, math.Abs(float64(v)))
			}
			if db := 20 * math.Log10(most/0.8); db > -80 {
				t.Errorf("%d to %d: a tone of %.0f Hz comes through at %.1f dB", p[0], p[1], hz, db)
			}
		}
	}
}

func TestResamplerDelay(t *testing.T) {
	for _, p := range pairs {
		r, err := NewResampler(p[0], p[1])
		if err != nil {
			t.Fatal(err)
		}
		if ms := 1000 * float64(r.Delay()) / float64(p[0]); ms > 2.01 {
			t.Errorf("%d to %d: %.2f ms", p[0], p[1], ms)
		}
		// One second in: all but the delay is out, and the rest follows on Flush.
		out := r.Feed(nil, make([]float32, p[0]))
		if late := p[1] - len(out); late > p[1]*21/10000+1 {
			t.Errorf("%d to %d: %d samples late", p[0], p[1], late)
		}
		if out = r.Flush(out); len(out) != p[1] {
			t.Errorf("%d to %d: %d samples of one second", p[0], p[1], len(out))
		}
	}
}

func TestResamplerSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(pairs).Draw(t, "rates")
		in := make([]float32, rapid.IntRange(0, 5000).Draw(t, "length"))
		x := uint32(1)
		for i := range in {
			x = x*1664525 + 1013904223
			in[i] = float32(int32(x)) / (1 << 31)
		}
		r, _ := NewResampler(p[0], p[1])
		whole := r.Flush(r.Feed(nil, in))
		// The same resampler again: Flush began it anew.
		var parts []float32
		for rest := in; len(rest) > 0; {
			n := min(len(rest), rapid.IntRange(0, 900).Draw(t, "piece"))
			parts = r.Feed(parts, rest[:n])
			rest = rest[n:]
			if n == 0 {
				parts = r.Feed(parts, rest[:1])
				rest = rest[1:]
			}
		}
		if parts = r.Flush(parts); !slices.Equal(whole, parts) {
			t.Fatalf("%v: the output depends on how the input was split", p)
		}
	})
}

func TestResamplerRefuses(t *testing.T) {
	for _, p := range [][2]int{{0, 24000}, {24000, -1}, {3999, 24000}, {24000, 192001}, {24000, 24001}} {
		if _, err := NewResampler(p[0], p[1]); err == nil {
			t.Errorf("%v is taken", p)
		}
	}
}

func BenchmarkResample(b *testing.B) {
	for _, p := range pairs[:14] {
		b.Run(fmt.Sprintf("%d-%d", p[0], p[1]), func(b *testing.B) {
			r, _ := NewResampler(p[0], p[1])
			in, out := make([]float32, p[0]*2/15), []float32(nil)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				out = r.Feed(out[:0], in)
				n++
			}
			b.ReportMetric(float64(n)*2/15/b.Elapsed().Seconds(), "x-realtime")
		})
	}
}
