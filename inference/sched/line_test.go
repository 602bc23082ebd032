package sched

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLineFindsTheCosts: chunks of many sizes at many depths, with noise. The line
// foresees chunks of other sizes and depths within twice the noise.
func TestLineFindsTheCosts(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		truth := line{fixed: r.Float64() * 50e6, each: 1e5 + r.Float64()*3e6, deep: r.Float64() * 1000}
		var l line
		for range samples {
			tokens, from := float64(64*(1+r.IntN(8))), r.Float64()*7000
			l.add(chunk{tokens: tokens, at: from + tokens/2, took: truth.took(tokens, from) * (0.99 + 0.02*r.Float64())})
		}
		for range 20 {
			tokens, from := float64(100+r.IntN(400)), 1000+r.Float64()*6000
			if got, want := l.took(tokens, from), truth.took(tokens, from); math.Abs(got/want-1) > 0.2 {
				t.Errorf("seed %d: %.0f tokens from %.0f: %.1f ms foreseen, %.1f ms true (%+v)", seed, tokens, from, got/1e6, want/1e6, truth)
			}
		}
	}
}

// TestLineAtDepth: a long prompt is read in chunks of one size; each next one is
// foreseen before it is read.
func TestLineAtDepth(t *testing.T) {
	truth := line{fixed: 10e6, each: 1.4e6, deep: 800}
	var l line
	for from := 0.0; from < 7000; from += 128 {
		if got, want := l.took(128, from), truth.took(128, from); l.n > 5 && math.Abs(got/want-1) > 0.02 {
			t.Errorf("at %.0f: %.0f ms foreseen, %.0f ms true", from, got/1e6, want/1e6)
		}
		l.add(chunk{tokens: 128, at: from + 64, took: truth.took(128, from)})
	}
	for _, time := range []float64{300e6, 500e6, 700e6} {
		if n := l.most(time, 5000); math.Abs(l.took(n, 5000)/time-1) > 1e-9 {
			t.Errorf("%f tokens fill %f ns, not %f", n, l.took(n, 5000), time)
		}
	}
	if n := l.most(1e12, 5000); n != growth*128 {
		t.Errorf("%f tokens, where twice the largest is known to be safe", n)
	}
	if n := l.most(1e12, 50_000); n < 32 || n > 40 {
		t.Errorf("%f tokens at seven times the depth that is known", n)
	}
}

// TestWideAndNarrow: where wide chunks are known to take too long, narrow ones are
// taken, though a line through both would say otherwise.
func TestWideAndNarrow(t *testing.T) {
	s, err := New(Limits{Slots: 4, Chunk: 512, Wide: 64, Gap: second})
	if err != nil {
		t.Fatal(err)
	}
	s.Decoded(1, 100e6)
	read := func(tokens int, took Tick) { s.cost.read(s.limits, 3000, tokens, took) }
	s.seats, s.decoding = nil, []*request{{}} // somebody watches
	for range 8 {
		read(40, 40*17e6)
	}
	if n := s.chunkSize(1, 3000); n != 47 {
		t.Errorf("%d tokens of 17 ms, 800 ms are left", n)
	}
	for range 8 {
		read(128, 128*6e6)
	}
	if n := s.chunkSize(1, 3000); n != 133 {
		t.Errorf("%d tokens of 6 ms", n)
	}
	s.limits.Gap = second / 2
	for range 8 {
		read(64, 450e6)
	}
	if n := s.chunkSize(1, 3000); n != 20 {
		t.Errorf("%d tokens, where 64 take longer than the 350 ms that are left, and 17 ms each else", n)
	}
}

// TestSlice: where others wait for the device, chunks fit their slice though nothing
// runs beside them.
func TestSlice(t *testing.T) {
	s, err := New(Limits{Slots: 4, Chunk: 512, MinChunk: 8})
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		s.cost.read(s.limits, 0, 64, 64e6)
	}
	s.Slice(40e6)
	if n := s.chunkSize(0, 0); n != 40 {
		t.Errorf("%d tokens of 1 ms in a slice of 40 ms", n)
	}
	s.Slice(0)
	if n := s.chunkSize(0, 0); n != 512 {
		t.Errorf("%d tokens with nobody else on the device", n)
	}
}

// TestWideIsNeverForgotten: however little is known of wide chunks, one is tried
// where it may fit.
func TestWideIsNeverForgotten(t *testing.T) {
	var c costs
	l := Limits{Wide: 64}
	c.read(l, 0, 65, 80e6)
	for from := 100; from < 6000; {
		n := c.size(64, 900e6, float64(from))
		if n < 64 {
			t.Fatalf("%d tokens from %d", n, from)
		}
		each := 1.4e6 + 800*float64(from)
		c.read(l, from, n, Tick(each*float64(n)))
		from += n
	}
}
