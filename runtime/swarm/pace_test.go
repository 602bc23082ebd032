package swarm

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPace(t *testing.T) {
	p, now := Pace{Now: 32}, dawn
	for i, c := range []struct {
		load Pressure
		wait time.Duration // before this look
		want int
	}{
		{Pressure{Slots: 8}, 0, 16},                               // two agents a slot
		{Pressure{Slots: 8, Waiting: 8}, 0, 16},                   // a queue as long as the slots is none
		{Pressure{Slots: 8, Waiting: 11}, 0, 13},                  // others use the server, too
		{Pressure{Slots: 8, Waiting: 40}, 0, 8},                   // never below the slots
		{Pressure{Slots: 8}, 0, 10},                               // up again, by a quarter
		{Pressure{Slots: 8, Refused: 3, Hold: time.Minute}, 0, 5}, // half
		{Pressure{Slots: 8}, 59 * time.Second, 5},                 // and stays for as long as was asked
		{Pressure{Slots: 8}, 2 * time.Second, 6},                  // one more
		{Pressure{Refused: 1}, 0, 3},                              // a server that says no more than that
		{Pressure{}, leastHold, 4},                                //
		{Pressure{Refused: 1}, 0, 2},                              //
		{Pressure{Refused: 1}, 0, 1},                              //
		{Pressure{Refused: 1}, 0, 1},                              // somebody always works
		{Pressure{Slots: 1}, time.Hour, 2},                        //
		{Pressure{Slots: 1000, Waiting: 0}, time.Hour, 3},         //
		{Pressure{Slots: 1000, Waiting: 5}, time.Hour, 3},         // no more while some wait
	} {
		now = now.Add(c.wait)
		var why string
		was := p.Now
		if p, why = p.Look(c.load, 32, now); p.Now != c.want || (why == "") != (p.Now == was) {
			t.Fatalf("look %d, %+v: %d (%s), want %d", i, c.load, p.Now, why, c.want)
		}
	}
}

// Whatever a server says, somebody works, and never more than the limits allow; a server
// that recovers is used in full again.
func TestPaceIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1, 2000).Draw(rt, "most")
		p, now := Pace{Now: most}, dawn
		look := func(l Pressure) {
			now = now.Add(5 * time.Second)
			p, _ = p.Look(l, most, now)
			if p.Now < 1 || p.Now > most {
				rt.Fatalf("%d agents of %d", p.Now, most)
			}
		}
		for range rapid.IntRange(0, 50).Draw(rt, "looks") {
			look(Pressure{
				Slots: rapid.IntRange(0, 64).Draw(rt, "slots"), Waiting: rapid.IntRange(0, 500).Draw(rt, "waiting"),
				Refused: rapid.IntRange(0, 3).Draw(rt, "refused"), Hold: time.Duration(rapid.IntRange(0, 90).Draw(rt, "hold")) * time.Second,
			})
		}
		for range 80 {
			look(Pressure{Slots: 4000})
		}
		if p.Now != most {
			rt.Fatalf("%d agents of %d when there is room", p.Now, most)
		}
	})
}
