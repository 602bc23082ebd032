package sched

import (
	"fmt"
	"slices"
)

// Replan says that the sequence of an admitted request turned out to hold
// another part of the prompt than was said: what it should hold could not be
// fetched. Nothing of the prompt may have been read yet.
func (s *Scheduler) Replan(id ID, reuse int, stops []int) error {
	r := s.byID[id]
	switch {
	case r == nil || r.slot < 0 || r.read != r.reuse || r.generated > 0:
		return fmt.Errorf("replan request %d: it does not run, or was read already", id)
	case reuse < 0 || reuse >= len(r.tokens) || !ascending(stops, len(r.tokens)):
		return fmt.Errorf("replan request %d: %d of %d tokens reused, stops %v", id, reuse, len(r.tokens), stops)
	}
	if reuse == r.reuse && slices.Equal(stops, r.stops) {
		return nil
	}
	r.reuse, r.read, r.stops = reuse, reuse, slices.Clone(stops)
	s.freeFollowers(r, func(*request) bool { return true }) // they look anew, at this one too
	s.offerLeader(r)
	s.settled = false
	return nil
}
