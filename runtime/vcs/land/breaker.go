package land

import "time"

// BreakerPolicy says when landing makes so many conflicts that it stops itself.
type BreakerPolicy struct {
	Rate    float64 // conflicts per landing that are too many; default 1; negative: never stop
	Minutes int     // in a row that it must be so; default 5
	Least   int     // landings and conflicts in a minute that count at all; default 20
}

func (p *BreakerPolicy) fill() {
	setDefault(&p.Rate, 1)
	setDefault(&p.Minutes, 5)
	setDefault(&p.Least, 20)
}

// A Minute is how many landings and conflicts there were in one.
type Minute struct {
	Start              time.Time
	Landed, Conflicted int
}

// Breaker counts conflicts over time, and trips when a storm of them lasts. Pure:
// it knows the time of events only. A minute is judged when it is over.
type Breaker struct {
	policy  BreakerPolicy
	minutes []Minute  // that had events; the last may not be over
	judged  time.Time // up to where
	bad     []Minute  // the current run of bad minutes
	open    bool
}

// keptMinutes bounds the curve: two weeks.
const keptMinutes = 14 * 24 * 60

// NewBreaker has seen nothing.
func NewBreaker(p BreakerPolicy) *Breaker {
	p.fill()
	return &Breaker{policy: p}
}

// Tripped reports whether landing is stopped.
func (b *Breaker) Tripped() bool { return b.open }

// Curve is the counts over time.
func (b *Breaker) Curve() []Minute { return append([]Minute(nil), b.minutes...) }

// Apply counts an event. A Trip or a Resumed sets the state.
func (b *Breaker) Apply(e Event) {
	switch {
	case e.Landed != nil, e.Conflict != nil:
		m := b.minute(e.At)
		if e.Landed != nil {
			m.Landed++
		} else {
			m.Conflicted++
		}
	case e.Trip != nil:
		b.open = true
	case e.Resumed:
		b.open, b.bad = false, nil
		// What came before is forgiven, the minute of the resumption included.
		b.judged = e.At.Truncate(time.Minute).Add(time.Minute)
	}
}

func (b *Breaker) minute(at time.Time) *Minute {
	start := at.Truncate(time.Minute)
	if n := len(b.minutes); n == 0 || b.minutes[n-1].Start.Before(start) {
		b.minutes = append(b.minutes, Minute{Start: start})
		if len(b.minutes) > keptMinutes {
			b.minutes = b.minutes[1:]
		}
	}
	// Events of a clock that was set back count where the last ones did.
	return &b.minutes[len(b.minutes)-1]
}

// Check judges the minutes that are over, and says whether to stop.
func (b *Breaker) Check(now time.Time) *Trip {
	if b.open || b.policy.Rate < 0 {
		return nil
	}
	first := len(b.minutes)
	for first > 0 && !b.minutes[first-1].Start.Before(b.judged) {
		first--
	}
	for _, m := range b.minutes[first:] {
		end := m.Start.Add(time.Minute)
		if now.Before(end) {
			break
		}
		if n := len(b.bad); n > 0 && b.bad[n-1].Start.Add(time.Minute) != m.Start {
			b.bad = nil // a quiet minute lay between
		}
		b.judged = end
		if b.storm(m) {
			b.bad = append(b.bad, m)
		} else {
			b.bad = nil
		}
		if len(b.bad) >= b.policy.Minutes {
			trip := &Trip{Minutes: len(b.bad)}
			for _, m := range b.bad {
				trip.Commits += m.Landed
				trip.Conflicts += m.Conflicted
			}
			b.bad = nil
			return trip
		}
	}
	return nil
}

func (b *Breaker) storm(m Minute) bool {
	return m.Landed+m.Conflicted >= b.policy.Least && float64(m.Conflicted) > b.policy.Rate*float64(m.Landed)
}
