package pace

import "time"

// Budget is how long the work on a frame may take: 60 % of it.
const Budget = 80 * time.Millisecond

// Action is what lateness asks for.
type Action int

// Actions, from none to the strongest.
const (
	OnTime Action = iota
	// LateOnce: the frame is replaced by a concealment, and counted.
	LateOnce
	// Relieve: three in a row. Others are to do less at once: the prefill of agents is
	// to pause.
	Relieve
	// Degrade: eight within ten seconds. The session goes on with less: cascade or text.
	Degrade
)

const (
	relieveAfter  = 3
	degradeAfter  = 8
	degradeWithin = 10 * time.Second
)

// Lateness watches the frames of one session. The zero value has seen none.
type Lateness struct {
	row    int
	recent [degradeAfter]time.Duration // when the latest misses were; a ring
	n      int
}

// Note takes how long a frame took at a time, and says what to do. A frame that was
// computed in Budget ends a row.
func (l *Lateness) Note(now, took time.Duration) Action {
	if took <= Budget {
		l.row = 0
		return OnTime
	}
	l.row++
	oldest := l.recent[l.n%degradeAfter]
	l.recent[l.n%degradeAfter] = now
	l.n++
	switch {
	case l.n > degradeAfter && now-oldest <= degradeWithin, l.n == degradeAfter && now-l.recent[0] <= degradeWithin:
		l.row, l.n = 0, 0 // it takes as many again to say so again
		return Degrade
	case l.row >= relieveAfter:
		return Relieve
	}
	return LateOnce
}

// Admit reports whether one session more fits beside n, whose frames took p99 or less, 99
// of 100: what n sessions together take is taken to grow with their number. Nothing
// measured (0) admits, and so does an empty machine.
func Admit(n int, p99 time.Duration) bool {
	return p99 <= 0 || n <= 0 || p99*time.Duration(n+1)/time.Duration(n) <= Budget
}
