package sched

// Expired names the requests, waiting or running, whose deadline has passed. The
// caller ends them with Remove; until then they are named again.
func (s *Scheduler) Expired(now Tick) []ID {
	s.tick(now)
	if s.now < s.deadline {
		return nil
	}
	var out []ID
	s.deadline = never
	for _, list := range [][]*request{s.waiting, s.running} {
		for _, r := range list {
			if r.deadline == 0 {
				continue
			}
			s.deadline = min(s.deadline, r.deadline)
			if r.deadline <= s.now {
				out = append(out, r.id)
			}
		}
	}
	return out
}

// WaitUntil says when something changes by time alone: a deadline passes, or a
// leader has been held for too long. The caller need not sleep longer. It may be
// early, never late, and lies in the past only while Expired names somebody or
// Candidate was not asked since; false = nothing will.
func (s *Scheduler) WaitUntil(now Tick) (Tick, bool) {
	s.tick(now)
	if s.deadline <= s.now {
		s.Expired(s.now) // the one with that deadline may be gone
	}
	at := s.deadline
	for _, l := range s.running {
		if l.held && len(l.followers) > 0 {
			at = min(at, l.heldSince+s.limits.Age/patience)
		}
	}
	return at, at != never
}

// Counts of requests by where they are.
type Counts struct {
	Waiting    int
	Following  int // of those waiting: for a leader
	Refused    int // of those waiting: there was no room for them
	Prefilling int
	Decoding   int
	Held       int // their state is being fetched
	Blocked    int // their reader is slow
	// By priority, not aged.
	WaitingBy, RunningBy [Priorities]int
	// Longest is how long the first of the waiting has been alive.
	Longest Tick
}

// Counts says how many requests wait, read their prompt, decode, are held and are
// blocked; each is in one of those.
func (s *Scheduler) Counts(now Tick) Counts {
	s.tick(now)
	c := Counts{Waiting: len(s.waiting)}
	for _, r := range s.waiting {
		c.WaitingBy[r.priority]++
		if r.leader != nil {
			c.Following++
		}
		if r.room.refusedAt != 0 {
			c.Refused++
		}
		c.Longest = max(c.Longest, s.now-r.arrival)
	}
	for _, r := range s.running {
		c.RunningBy[r.priority]++
		switch {
		case r.held:
			c.Held++
		case r.reading():
			c.Prefilling++
		case r.blocked:
			c.Blocked++
		default:
			c.Decoding++
		}
	}
	return c
}
