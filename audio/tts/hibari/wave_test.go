package hibari

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A spectrum of pulses alone, without turn, is the pulses: analysis and synthesis are each
// other's inverse.
func TestWaveGivesThePulsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.IntRange(9, 16).Draw(t, "frames")
		s := spectrum{frames: frames, pitch: make([]float32, frames)}
		flat := func(v float32) []float32 {
			m := make([]float32, frames*bins)
			for i := range m {
				m[i] = v
			}
			return m
		}
		// Analysis divides by hop; the rest keeps the top of the pulses below 1.
		s.harmonic, s.turn, s.phases = flat(float32(math.Log(hop)-8)), flat(0), flat(0)
		s.noise, s.free = flat(-50), flat(-50)
		f := rapid.Float64Range(60, 400).Draw(t, "pitch")
		for i := range s.pitch {
			s.pitch[i] = float32(f)
		}
		want := pulses(s.pitch)
		got := newWave(s).collect()
		if len(got) != frames*hop {
			t.Fatalf("%d samples for %d frames", len(got), frames)
		}
		scale := math.Exp(-8)
		for i := window; i < len(got)-window; i++ {
			if math.Abs(float64(got[i])-want[i]*scale) > 1e-4 {
				t.Fatalf("sample %d: got %v, want %v", i, got[i], want[i]*scale)
			}
		}
	})
}

// collect is all of a wave.
func (w *wave) collect() []float32 {
	var out []float32
	for {
		var more bool
		if out, more = w.next(out); !more {
			return out
		}
	}
}

// The closed form is the sum of cosines.
func TestHarmonics(t *testing.T) {
	for _, n := range []int{1, 2, 27, 110} {
		for phase := 0.0; phase < 2*math.Pi; phase += 0.05 {
			want := 0.0
			for h := 1; h <= n; h++ {
				want += math.Cos(float64(h) * phase)
			}
			if got := harmonics(phase, float64(n)); math.Abs(got-want) > 1e-6*float64(n*n) {
				t.Fatalf("%d harmonics at %v: got %v, want %v", n, phase, got, want)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := []rune(rapid.StringOf(rapid.SampledFrom([]rune("ab ,.ˈ"))).Draw(t, "sounds"))
		most := rapid.IntRange(4, 20).Draw(t, "most")
		whole := ""
		for _, part := range split(s, most) {
			if len(part) > most || len(part) == 0 && len(s) > most {
				t.Fatalf("%q: a part of %d, at most %d", string(s), len(part), most)
			}
			whole += string(part)
		}
		if whole != string(s) {
			t.Fatalf("the parts of %q are %q", string(s), whole)
		}
	})
}
