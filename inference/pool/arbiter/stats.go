package arbiter

import "time"

// Stats are an arbiter's counters since it was made.
type Stats struct {
	// Members are the processes that have joined; Shared of them are on a device
	// with others, Holding of them have a lease.
	Members, Shared, Holding int
	// Waits are, by class, of the turns that were asked for. A call under a lease
	// that is kept waits for nothing and is not counted.
	Waits [classes]Waits
	// Late turns for frames came after they were due.
	Late uint64
	// Overruns are calls that took longer than the slice where others are on the
	// device.
	Overruns uint64
	// Dead processes ended, Stuck ones were silent, with a lease that was taken from
	// them.
	Dead, Stuck uint64
}

// WaitBounds are the upper bounds of the buckets of Waits.
var WaitBounds = [...]time.Duration{
	100 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond, 400 * time.Millisecond, 1600 * time.Millisecond,
}

// Waits counts waits for a turn.
type Waits struct {
	Count uint64
	Sum   time.Duration
	Most  time.Duration
	// UpTo counts those not longer than the bound at the same place of WaitBounds.
	UpTo [len(WaitBounds)]uint64
}

func (w *Waits) add(d tick) {
	took := time.Duration(d)
	w.Count++
	w.Sum += took
	w.Most = max(w.Most, took)
	for i, b := range WaitBounds {
		if took <= b {
			w.UpTo[i]++
		}
	}
}

// snapshot is the counters with what is now.
func (p *policy) snapshot() Stats {
	s := p.stats
	s.Members = len(p.members)
	for _, m := range p.members {
		if m.told > 0 {
			s.Shared++
		}
		if m.lease != nil {
			s.Holding++
		}
	}
	return s
}
