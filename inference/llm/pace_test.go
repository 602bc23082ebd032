package llm

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const step = 10 * time.Millisecond

// windows runs n windows of steps whose threads wait this share of their time.
func windows(p *pace, n int, share float64) int {
	total := p.waited
	for range n * int(paceWindow/step) {
		total += time.Duration(share * float64(p.threads) * float64(step))
		p.observe(step, func() time.Duration { return total })
	}
	return p.threads
}

func TestPaceGivesUpAThreadOnACrowdedMachineAndTakesItBack(t *testing.T) {
	p := newPace(2, 0)
	if n := windows(p, 50, 0.05); n != 2 {
		t.Fatalf("%d threads on a quiet machine", n)
	}
	if n := windows(p, 1, 0.5); n != 1 {
		t.Fatalf("%d threads after a crowded window", n)
	}
	if n := windows(p, minRest, 0.05); n != 1 {
		t.Fatalf("%d threads before the rest is over", n)
	}
	if n := windows(p, 1, 0.05); n != 2 {
		t.Fatalf("%d threads when it is quiet again", n)
	}
}

func TestPaceTriesLessOftenWhereItStaysCrowded(t *testing.T) {
	p := newPace(2, 0)
	tries := 0
	for range 2000 {
		before := p.threads
		share := 0.05
		if p.threads == 2 {
			share = 0.5
		}
		if windows(p, 1, share); p.threads > before {
			tries++
		}
	}
	if tries > 12 || tries < 4 {
		t.Errorf("%d tries in 2000 windows", tries)
	}
}

func TestOneSlowThreadIsEnough(t *testing.T) {
	if n := windows(newPace(1, 0), 100, 0.9); n != 1 {
		t.Errorf("%d threads", n)
	}
}

func TestPaceStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPace(rapid.IntRange(1, 16).Draw(t, "threads"), 0)
		var total time.Duration
		for range rapid.IntRange(1, 500).Draw(t, "steps") {
			took := time.Duration(rapid.IntRange(0, int(time.Second)).Draw(t, "took"))
			total += time.Duration(rapid.IntRange(0, 16*int(time.Second)).Draw(t, "waited"))
			if n := p.observe(took, func() time.Duration { return total }); n < 1 || n > p.most {
				t.Fatalf("%d of %d threads", n, p.most)
			}
		}
	})
}
