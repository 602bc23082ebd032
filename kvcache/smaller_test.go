package kvcache

import "testing"

// Pinned states lose nothing, a person's are spared longer, and what nobody waits for goes
// first and furthest; more time never gives quality back.
func TestLevel(t *testing.T) {
	const half = 100
	for _, c := range []struct {
		rank   Rank
		pinned bool
		idle   Tick
		want   int
	}{
		{Background, true, 1000, 0}, {Interactive, true, 1000, 0},
		{Background, false, 0, 3}, {Ordinary, false, 0, 0}, {Unranked, false, 24, 0},
		{Ordinary, false, 25, 1}, {Interactive, false, 25, 0}, {Interactive, false, 99, 0}, {Interactive, false, 100, 1},
		{Ordinary, false, 399, 1}, {Ordinary, false, 400, 3}, {Interactive, false, 400, 3},
	} {
		if got := level(3, c.rank, c.pinned, c.idle, half); got != c.want {
			t.Errorf("%+v: level %d", c, got)
		}
	}
	for rank := Unranked; rank <= Interactive; rank++ {
		last := 0
		for idle := Tick(0); idle < 1000; idle++ {
			l := level(2, rank, false, idle, half)
			if l < last || level(2, Background, false, idle, half) < l || level(0, rank, false, idle, half) != 0 {
				t.Fatalf("rank %d, idle %d: level %d after %d", rank, idle, l, last)
			}
			last = l
		}
		first := firstLevel(2, rank, false)
		if (first > 0) != (rank == Background) || firstLevel(2, rank, true) != 0 || firstLevel(0, rank, false) != 0 {
			t.Errorf("rank %d is written at level %d", rank, first)
		}
	}
}
