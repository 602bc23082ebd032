package key

import "time"

// Limit names the limit that a request was refused by.
type Limit string

// The limits, as the file names them.
const (
	RequestsPerMinute Limit = "requests_per_minute"
	RequestsPerDay    Limit = "requests_per_day"
	TokensPerMinute   Limit = "tokens_per_minute"
	TokensPerDay      Limit = "tokens_per_day"
	Concurrency       Limit = "concurrency"
)

// maxCount bounds whatever is counted, so that sums cannot run over.
const maxCount = 1 << 50

// Decision is whether a request may go on now.
type Decision struct {
	OK bool
	// Limit is the one that refused: of several the one that lasts longest. Most
	// is what it is set to.
	Limit Limit
	Most  int64
	// RetryAfter is when the request would be admitted; 0 where that is not known
	// (Concurrency) or never.
	RetryAfter time.Duration
	// Never says that the request alone expects more than the limit.
	Never bool
}

// meter counts for one key and decides by its limits. It is plain data: no clock,
// lock or I/O. Times come from the caller; one before the last is allowed.
type meter struct {
	running int64
	live    account // all that is known
	fresh   account // the part of live that is not in the file yet
}

// hold is what an admitted request was counted as.
type hold struct {
	at     time.Time
	tokens int64
}

// gauge is one sliding limit: what it counts and how.
type gauge struct {
	limit  Limit
	scale  scale
	tokens bool // or requests
}

// gauges in the order of account.windows.
var gauges = [...]gauge{
	{RequestsPerMinute, perMinute, false},
	{RequestsPerDay, perDay, false},
	{TokensPerMinute, perMinute, true},
	{TokensPerDay, perDay, true},
}

// of is what a gauge may count at most; 0 is any.
func (g gauge) of(l Limits) int64 {
	switch g.limit {
	case RequestsPerMinute:
		return l.RequestsPerMinute
	case RequestsPerDay:
		return l.RequestsPerDay
	case TokensPerMinute:
		return l.TokensPerMinute
	default:
		return l.TokensPerDay
	}
}

// admit decides about a request that expects so many tokens, and counts it if it
// may go on. One that expects none still needs room for one token: what a full
// window has no room for is any request.
func (m *meter) admit(l Limits, now time.Time, expected int64) (hold, Decision) {
	expected = min(max(expected, 1), maxCount)
	d := m.decide(l, now, expected)
	if !d.OK {
		return hold{}, d
	}
	m.running++
	for i, g := range gauges {
		n := int64(1)
		if g.tokens {
			n = expected
		}
		m.count(i, now, n)
	}
	return hold{now, expected}, d
}

// decide changes nothing but that it forgets what is past.
func (m *meter) decide(l Limits, now time.Time, expected int64) Decision {
	d := Decision{OK: true}
	if l.Concurrency > 0 && m.running >= l.Concurrency {
		d = Decision{Limit: Concurrency, Most: l.Concurrency}
	}
	for i, g := range gauges {
		w := &m.live.windows[i]
		w.advance(g.scale, now)
		most, need := g.of(l), int64(1)
		if g.tokens {
			need = expected
		}
		switch {
		case most == 0:
		case need > most:
			return Decision{Limit: g.limit, Most: most, Never: true}
		default:
			if wait := w.wait(g.scale, now, need, most); wait > d.RetryAfter {
				d = Decision{Limit: g.limit, Most: most, RetryAfter: wait}
			}
		}
	}
	return d
}

// settle ends a request that took so many tokens.
func (m *meter) settle(h hold, now time.Time, tokens int64) {
	m.running--
	more := min(max(tokens, 0), maxCount) - h.tokens
	at := h.at // what was not taken is given back where it was counted
	if more > 0 {
		at = now
	}
	for i, g := range gauges {
		if g.tokens { // in a slot that is forgotten, this is forgotten with it
			m.count(i, at, more)
		}
	}
}

// note counts usage.
func (m *meter) note(now time.Time, c Counts) {
	m.live.note(now, c)
	m.fresh.note(now, c)
}

func (m *meter) count(gauge int, at time.Time, n int64) {
	slot := gauges[gauge].scale.at(at)
	m.live.windows[gauge].add(slot, n)
	m.fresh.windows[gauge].add(slot, n)
}
