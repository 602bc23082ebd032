package swarm

import (
	"fmt"
	"time"
)

// A Pressure is what is known of a model server since it was looked at last.
type Pressure struct {
	// Slots is how many requests it computes at once; 0: that is not known.
	Slots int
	// Waiting is how many requests wait there for their turn, anybody's.
	Waiting int
	// Refused is how many requests it refused for want of room, and Hold the longest
	// wait that it asked for.
	Refused int
	Hold    time.Duration
}

// A Pace says how many agents may be at work, from what a model server has room for.
// Agents that are alive cost the server nothing; those at work are in a turn there, or
// in a tool between two. Pure.
type Pace struct {
	Now   int
	Until time.Time // not raised before
}

// perSlot is how many agents at work keep a slot busy: one computes while another one's
// tool runs.
const perSlot = 2

// leastHold is how long a refusal counts at least.
const leastHold = 10 * time.Second

// Look is the pace after a look at the server, and why it is another one; empty: it is
// not. most is how many agents the run's limits allow at work.
func (p Pace) Look(l Pressure, most int, now time.Time) (Pace, string) {
	upper := most
	if l.Slots > 0 {
		upper = min(most, perSlot*l.Slots)
	}
	upper = max(1, upper)
	next, why := p, ""
	switch {
	case l.Refused > 0:
		next.Now = max(1, min(p.Now, upper)/2)
		next.Until = now.Add(max(l.Hold, leastHold))
		why = fmt.Sprintf("the model server refused %d requests", l.Refused)
	case p.Now > upper:
		next.Now = upper
		why = fmt.Sprintf("the model server computes %d requests at once", l.Slots)
		if upper == most {
			why = "the run's limits"
		}
	case now.Before(p.Until):
	case l.Slots > 0 && l.Waiting > l.Slots:
		next.Now = min(p.Now, max(l.Slots, p.Now-(l.Waiting-l.Slots)))
		why = fmt.Sprintf("%d requests wait at the model server", l.Waiting)
	case l.Waiting == 0 && p.Now < upper:
		next.Now = min(upper, p.Now+max(1, p.Now/4))
		why = "the model server has room"
	}
	if next.Now == p.Now {
		why = ""
	}
	return next, why
}
