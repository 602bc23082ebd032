package reuse

import (
	"flag"
	"testing"
)

// The figures of the README: go test ./inference/bench/reuse -v -args -turns 12
var turns = flag.Int("turns", 0, "turns of each agent; 0: 12 of 64, 6 of 1,000")

// Row P1: a team's prompts are read once, and nobody's turn waits much longer than
// others', however many agents there are for eight slots.
func TestReuseAndFairness(t *testing.T) {
	for _, c := range []struct{ agents, turns int }{{64, 12}, {1000, 6}} {
		if *turns > 0 {
			c.turns = *turns
		}
		l, s := Team(c.agents, c.turns), Card()
		ours, err := Ours(l, s)
		if err != nil {
			t.Fatal(err)
		}
		fifo, one := FIFO(l, s), CapOne(l, s)
		for _, row := range []struct {
			name string
			Report
		}{{"ours", ours}, {"fifo", fifo}, {"cap-1", one}} {
			t.Logf("%5d agents  %-6s reused %5.1f %% (at most %5.1f %%)  wait mean %6.1f s  max %6.1f s  max/mean %5.2f  in all %7.1f s  parked %d",
				c.agents, row.name, 100*row.Share(), 100*float64(row.Most)/float64(row.Prompt), float64(row.MeanWait)/1e9, float64(row.MaxWait)/1e9, row.Unfair(), float64(row.Span)/1e9, row.Parked)
			if row.Turns != c.agents*c.turns || row.Prompt != fifo.Prompt {
				t.Errorf("%s: %d turns with %d tokens; all must do the same", row.name, row.Turns, row.Prompt)
			}
			if row.Reused > row.Most {
				t.Errorf("%s reused %d tokens, of %d that were computed", row.name, row.Reused, row.Most)
			}
		}
		if ours.Share() < 0.9 {
			t.Errorf("%d agents: %.1f %% reused, want 90", c.agents, 100*ours.Share())
		}
		if ours.Unfair() > 3 {
			t.Errorf("%d agents: the longest wait is %.1f times the mean, want 3 at most", c.agents, ours.Unfair())
		}
	}
}

// The same load is the same report, and the tree's ledger adds up in the end.
func TestTheSameAgain(t *testing.T) {
	l, s := Team(20, 3), Card()
	s.RAM, s.Disk = 4<<30, 8<<30 // too little for all
	var reports [2]Report
	for i := range reports {
		o, err := newOwner(l, s)
		if err != nil {
			t.Fatal(err)
		}
		for o.left > 0 {
			if err := o.round(); err != nil {
				t.Fatal(err)
			}
			if err := o.sched.Check(); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.tree.Check(); err != nil {
			t.Error(err)
		}
		reports[i] = o.tally.report(o.now)
	}
	if reports[0] != reports[1] || reports[0].Reused == 0 {
		t.Errorf("%+v, then %+v", reports[0], reports[1])
	}
}
