package sched

import "slices"

// Grouping: requests that arrive together often begin alike. When one of them
// runs and reads what they share, the others wait until it has, and then find it
// in the cache: the prefix is computed once. See doc.go.

// maxLeaders bounds how often a request waits for a leader, so that leaders which
// are cancelled or parked one after the other do not keep it forever.
const maxLeaders = 8

// patience, as a part of Age: a leader that is held (its state is being fetched)
// for so long is not waited for any more.
const patience = 4

// common is the length of the prefix that a waiting request shares with a running
// one. It is computed once per pair.
type common struct {
	stay uint64 // of the running request
	n    int
}

// commonPrefix counts the tokens that two prompts begin with. Blocks are compared
// as arrays: that is several times faster than token by token.
func commonPrefix(a, b []Token) int {
	const block = 64
	n := min(len(a), len(b))
	i := 0
	for i+block <= n && *(*[block]Token)(a[i:]) == *(*[block]Token)(b[i:]) {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func (s *Scheduler) common(w, l *request) int {
	if w.common == nil {
		w.common = make([]common, len(s.seats))
	}
	c := &w.common[l.seat]
	if c.stay != l.stay {
		*c = common{l.stay, commonPrefix(w.tokens, l.tokens)}
	}
	return c.n
}

// shareable is how many of the first n tokens of l others can take from it once
// it has read them. Of a plain model all, else up to the last stop.
func (s *Scheduler) shareable(l *request, n int) int {
	if !s.limits.Checkpoints {
		return n
	}
	i, found := slices.BinarySearch(l.stops, n)
	if found {
		return n
	}
	best := 0
	if i > 0 {
		best = l.stops[i-1]
	}
	if l.reuse <= n {
		best = max(best, l.reuse) // a state stood there already
	}
	return best
}

// reach is up to where w should wait for l to read; 0 = it is not worth while.
func (s *Scheduler) reach(w, l *request) int {
	if !l.reading() || l.held && s.stalled(l) {
		return 0
	}
	n := s.common(w, l)
	until := s.shareable(l, n)
	have := max(w.cached, s.shareable(l, min(n, l.read)))
	if until-have < s.limits.Group {
		return 0
	}
	return until
}

func (s *Scheduler) stalled(l *request) bool { return s.now-l.heldSince >= s.limits.Age/patience }

// findLeader lets a waiting request wait for the running one that reads furthest
// into its prompt, if there is one worth it.
func (s *Scheduler) findLeader(w *request) {
	var best *request
	until := 0
	for _, l := range s.running {
		if n := s.reach(w, l); n > until || n == until && n > 0 && l.read > best.read {
			best, until = l, n
		}
	}
	if best != nil {
		s.follow(w, best, until)
	}
}

// offerLeader lets all that wait for nobody look at a request that began to run.
func (s *Scheduler) offerLeader(l *request) {
	for _, w := range s.waiting {
		if w.leader == nil {
			if n := s.reach(w, l); n > 0 {
				s.follow(w, l, n)
			}
		}
	}
}

func (s *Scheduler) follow(w, l *request, until int) {
	if w.led == maxLeaders {
		return
	}
	w.led++
	w.leader, w.until = l, until
	if len(l.followers) == 0 {
		l.pull, l.wake = never, until
	}
	l.followers = append(l.followers, w)
	l.pull, l.wake = min(l.pull, w.urge), min(l.wake, until)
}

// unfollow takes a request out of its leader's followers.
func (s *Scheduler) unfollow(w *request) {
	l := w.leader
	if l == nil {
		return
	}
	w.leader = nil
	l.followers = slices.DeleteFunc(l.followers, func(f *request) bool { return f == w })
	l.recount()
}

// recount finds pull and wake anew.
func (l *request) recount() {
	l.pull, l.wake = never, len(l.tokens)
	for _, f := range l.followers {
		l.pull, l.wake = min(l.pull, f.urge), min(l.wake, f.until)
	}
}

// freeFollowers ends the wait of those that match; each may find another leader.
func (s *Scheduler) freeFollowers(l *request, match func(*request) bool) {
	if len(l.followers) == 0 {
		return
	}
	var free []*request
	l.followers = slices.DeleteFunc(l.followers, func(f *request) bool {
		if !match(f) {
			return false
		}
		free = append(free, f)
		return true
	})
	l.recount()
	for _, f := range free {
		f.leader = nil
		s.findLeader(f)
	}
	s.settled = false
}

// releaseStalled frees those whose leader is held for too long.
func (s *Scheduler) releaseStalled() {
	for _, l := range s.running {
		if l.held && len(l.followers) > 0 && s.stalled(l) {
			s.freeFollowers(l, func(*request) bool { return true })
		}
	}
}
