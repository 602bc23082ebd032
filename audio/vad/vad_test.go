package vad_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dure/audio/enginetest"
	"dure/audio/vad"
)

func load(t *testing.T) (*vad.Model, func(text string, rate int) []float32) {
	t.Helper()
	lib := enginetest.Runtime(t)
	data, err := os.ReadFile(enginetest.VADFile(t))
	if err != nil {
		t.Fatal(err)
	}
	m, err := vad.Load(lib, data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	v := enginetest.Voice(t, lib)
	return m, func(text string, rate int) []float32 { return enginetest.Say(t, v, text, rate) }
}

func chances(t *testing.T, m *vad.Model, rate int, pcm []float32) []float32 {
	t.Helper()
	s, err := m.Open(rate)
	if err != nil {
		t.Fatal(err)
	}
	var out []float32
	if err := s.Feed(t.Context(), pcm, func(p float32) { out = append(out, p) }); err != nil {
		t.Fatal(err)
	}
	if want := len(pcm) / vad.Hop(rate); len(out) != want {
		t.Fatalf("%d probabilities for %d samples at %d, want %d", len(out), len(pcm), rate, want)
	}
	return out
}

// noisy adds white noise of a standard deviation.
func noisy(pcm []float32, deviation float64) []float32 {
	r := rand.New(rand.NewPCG(3, 4))
	out := slices.Clone(pcm)
	for i := range out {
		out[i] += float32(r.NormFloat64() * deviation)
	}
	return out
}

// Speech reads as speech, also in noise and at telephone quality; silence, noise and tones
// do not.
func TestSpeechAndEverythingElse(t *testing.T) {
	m, say := load(t)
	for _, rate := range []int{16000, 8000} {
		spoken := say(strings.Join(enginetest.Sentences[:3], " "), rate)
		for name, pcm := range map[string][]float32{"clean": spoken, "noisy": noisy(spoken, 0.003)} {
			got := chances(t, m, rate, pcm)
			sure := 0
			for _, p := range got {
				if p > 0.9 {
					sure++
				}
			}
			slices.Sort(got)
			if sure*10 < len(got)*6 || got[len(got)/2] < 0.95 {
				t.Errorf("%s speech at %d: %d of %d hops are sure, median %.2f", name, rate, sure, len(got), got[len(got)/2])
			}
		}
		tone := make([]float32, 5*rate)
		for i := range tone {
			tone[i] = float32(0.3 * math.Sin(2*math.Pi*440*float64(i)/float64(rate)))
		}
		for name, pcm := range map[string][]float32{
			"silence": make([]float32, 5*rate), "quiet noise": noisy(make([]float32, 5*rate), 0.001),
			"loud noise": noisy(make([]float32, 5*rate), 0.1), "a tone": tone,
		} {
			got := chances(t, m, rate, pcm)[5:] // the first hops find their feet
			if high := slices.Max(got); high > 0.5 {
				t.Errorf("%s at %d reads %.2f", name, rate, high)
			}
		}
	}
}

// However sound is cut, the probabilities are the same, bit by bit; Reset forgets.
func TestPieces(t *testing.T) {
	m, say := load(t)
	pcm := say(enginetest.Sentences[0], 16000)
	want := chances(t, m, 16000, pcm)
	s, err := m.Open(16000)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 2 {
		var got []float32
		for rest := pcm; len(rest) > 0; {
			n := min(len(rest), r.IntN(1500))
			if err := s.Feed(t.Context(), rest[:n], func(p float32) { got = append(got, p) }); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("round %d: cut at random places the probabilities differ", round)
		}
		s.Reset()
	}
}

func TestOpenRefuses(t *testing.T) {
	m, _ := load(t)
	for _, rate := range []int{0, 24000, 44100} {
		if _, err := m.Open(rate); err == nil {
			t.Errorf("a stream of %d samples a second was opened", rate)
		}
	}
	if _, err := vad.Load(enginetest.Runtime(t), []byte("no model")); err == nil {
		t.Error("text was loaded as a model")
	}
}

// BenchmarkHop is the time of one probability.
func BenchmarkHop(b *testing.B) {
	data, err := os.ReadFile(enginetest.VADFile(b))
	if err != nil {
		b.Fatal(err)
	}
	m, err := vad.Load(enginetest.Runtime(b), data)
	if err != nil {
		b.Fatal(err)
	}
	s, err := m.Open(16000)
	if err != nil {
		b.Fatal(err)
	}
	pcm := make([]float32, 512)
	var each []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := s.Feed(context.Background(), pcm, func(float32) {}); err != nil {
			b.Fatal(err)
		}
		each = append(each, time.Since(began))
	}
	slices.Sort(each)
	b.ReportMetric(float64(each[len(each)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(each[len(each)*99/100].Microseconds()), "p99-us")
}
