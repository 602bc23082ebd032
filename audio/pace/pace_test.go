package pace

import (
	"math"
	"testing"
	"time"

	"dure/audio"
	"pgregory.net/rapid"
)

func TestDue(t *testing.T) {
	// An hour is 27,000 frames, exactly; so is a year of them.
	if Due(27000) != time.Hour || Due(27000*24*365) != 365*24*time.Hour || Due(0) != 0 || Due(1) != 133333333 {
		t.Error(Due(27000), Due(1))
	}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.Int64Range(0, 1e9).Draw(t, "k")
		if n := Next(Due(k)); n != k+1 {
			t.Fatalf("after frame %d comes %d", k, n)
		}
		if n := Next(Due(k) - 1); n != k {
			t.Fatalf("just before frame %d comes %d", k, n)
		}
		if d := Due(k+1) - Due(k); d < 133333333 || d > 133333334 {
			t.Fatalf("frame %d lasts %v", k, d)
		}
	})
}

// However frames are produced and ticks come late, no more than two are ahead, and over an
// hour not a sample is lost or gained.
func TestPlayoutNeverAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Playout
		now := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "start"))
		begin, sent, idle := now, audio.Samples(0), time.Duration(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			wait := time.Duration(rapid.Int64Range(0, 3e8).Draw(t, "wait"))
			idle += max(0, wait-p.Left(now))
			now += wait
			n := min(p.Room(now), audio.Samples(rapid.IntRange(1, 2*audio.FrameSamples).Draw(t, "ready")))
			if n == 0 {
				continue
			}
			p.Sent(now, n)
			sent += n
			if p.Left(now) > audio.Samples(Ahead).Duration()+22*time.Microsecond {
				t.Fatalf("%v ahead", p.Left(now))
			}
			if d := begin + idle + sent.Duration() - p.end(); max(d, -d) > time.Microsecond {
				t.Fatalf("drift of %v", d)
			}
		}
	})
}

func TestPlayoutKeepsUpWithClock(t *testing.T) {
	var p Playout
	p.Sent(0, p.Room(0))
	for k := int64(1); k <= 27000; k++ {
		now := Due(k)
		if p.Drained(now) {
			t.Fatalf("frame %d: ran empty", k)
		}
		if p.Room(now) < audio.FrameSamples-1 {
			t.Fatalf("frame %d: room for %d", k, p.Room(now))
		}
		p.Sent(now, audio.FrameSamples)
	}
	if p.Left(time.Hour) > audio.Samples(Ahead+1).Duration() || p.Left(time.Hour) < audio.Samples(Ahead-1).Duration() {
		t.Errorf("%v left after an hour", p.Left(time.Hour))
	}
	p.Stop(time.Hour)
	if p.Left(time.Hour) != 0 || p.Drained(time.Hour+1) {
		t.Error("a stopped playout goes on")
	}
}

func TestConceal(t *testing.T) {
	last := make([]float32, 2000)
	for i := range last {
		last[i] = float32(math.Sin(float64(i) / 9))
	}
	out := Conceal(last)
	if len(out) != Fade || out[0] != last[1999] || math.Abs(float64(out[Fade-1])) > 1.0/Fade+1e-6 {
		t.Errorf("%d samples, %v to %v", len(out), out[0], out[Fade-1])
	}
	for _, v := range Conceal(nil) {
		if v != 0 {
			t.Fatal("sound out of nothing")
		}
	}
	Conceal([]float32{1})
}

func TestLateness(t *testing.T) {
	late, good := Budget+1, Budget
	second := func(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
	for _, c := range []struct {
		name string
		at   []float64
		took []time.Duration
		want []Action
	}{
		{"on time", []float64{0, 1}, []time.Duration{good, 0}, []Action{OnTime, OnTime}},
		{"once", []float64{0, 1}, []time.Duration{late, good}, []Action{LateOnce, OnTime}},
		{"three in a row", []float64{0, 1, 2, 3, 4}, []time.Duration{late, late, late, late, good}, []Action{LateOnce, LateOnce, Relieve, Relieve, OnTime}},
		{"not in a row", []float64{0, 1, 2, 3}, []time.Duration{late, late, good, late}, []Action{LateOnce, LateOnce, OnTime, LateOnce}},
	} {
		var l Lateness
		for i := range c.at {
			if got := l.Note(second(c.at[i]), c.took[i]); got != c.want[i] {
				t.Errorf("%s, frame %d: %v", c.name, i, got)
			}
		}
	}
	// Eight misses within ten seconds, each between two that are on time.
	for spacing, want := range map[float64]bool{1.0: true, 1.42: true, 1.43: false, 2: false} {
		var l Lateness
		degraded := 0
		for i := range 40 {
			if l.Note(second(float64(i)*spacing), late) == Degrade {
				degraded++
			}
			l.Note(second(float64(i)*spacing+0.1), good)
		}
		if want != (degraded > 0) || degraded > 5 {
			t.Errorf("every %v s: degraded %d times", spacing, degraded)
		}
	}
}

func TestAdmit(t *testing.T) {
	for _, c := range []struct {
		n    int
		p99  time.Duration
		want bool
	}{{0, 0, true}, {1000, 0, true}, {0, 2 * Budget, true}, {1, Budget / 2, true}, {1, Budget/2 + 1, false}, {16, 75 * time.Millisecond, true}, {16, 76 * time.Millisecond, false}} {
		if got := Admit(c.n, c.p99); got != c.want {
			t.Errorf("%d sessions at %v: %v", c.n, c.p99, got)
		}
	}
}

func TestHistogram(t *testing.T) {
	if len(Bounds)+1 != buckets {
		t.Fatalf("%d bounds", len(Bounds))
	}
	var h Histogram
	for i := 1; i <= 1000; i++ {
		h.Observe(time.Duration(i) * 10 * time.Microsecond) // 0.01 to 10 ms
	}
	h.Observe(-1)
	s := h.Snapshot()
	for q, want := range map[float64]time.Duration{0: 100 * time.Microsecond, 0.5: 5 * time.Millisecond, 0.99: 10 * time.Millisecond, 1: 10 * time.Millisecond} {
		if got := s.Quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if s.Count != 1001 || s.Max != 10*time.Millisecond {
		t.Error(s.Count, s.Max)
	}
	h.Observe(time.Hour)
	more := h.Snapshot()
	more.Add(s)
	if more.Count != 2003 || more.Quantile(1) != time.Hour {
		t.Error(more.Count, more.Quantile(1))
	}
	if empty := (&Snapshot{}); empty.Quantile(0.5) != 0 {
		t.Error("something in nothing")
	}
}
