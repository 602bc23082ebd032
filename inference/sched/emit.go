package sched

// Emitted tells that a request's stream got n tokens more from the last step than
// the one that Decoded counts.
func (s *Scheduler) Emitted(id ID, n int) {
	r := s.byID[id]
	if r == nil || r.slot < 0 || n < 1 {
		return
	}
	r.charge(n)
	r.generated += n
}
