package land

import "dure/runtime/vcs/object"

// FollowPolicy bounds what the checks of main cost.
type FollowPolicy struct {
	Again int // runs after a failure before it is believed; default 2; negative: none
	Batch int // most landings that one check covers; default 1024
}

func (p *FollowPolicy) fill() {
	setDefault(&p.Again, 2)
	setDefault(&p.Batch, 1024)
	p.Again = max(p.Again, 0)
}

// A Step is what a check's result led to. Any of the fields may be set.
type Step struct {
	Green  object.ID // the checks pass here: move green
	Broken object.ID // the first landing with which they fail
	Flaky  object.ID // they failed here, and then passed
	Mended bool      // they pass again after Broken
}

// Follow decides what commit of main to check next, and how far green is. It
// checks the newest; if that fails for good, it looks for the first landing that
// fails by halving, which takes as many checks as the number of landings has binary
// digits (each failing one as often as the policy says). While main is broken it
// only checks whether a newer commit mends it. Pure.
//
// A check that fails and then passes is flaky: it counts as passed, and is told.
// A check that passes is believed at once.
type Follow struct {
	policy FollowPolicy
	chain  []object.ID // main's commits behind green, oldest first
	good   int         // in chain: the last one known to pass; -1: green itself
	bad    int         // in chain: the first one known to fail; len(chain): none
	at     int         // in chain: what is being checked; -1: nothing
	failed int         // failures of it in a row
	broken bool        // the first failing landing is known: it is chain[0]
	tried  object.ID   // the newest commit that is known to fail
}

// NewFollow begins behind a green commit; what Moved brings comes after it.
func NewFollow(p FollowPolicy) *Follow {
	p.fill()
	return &Follow{policy: p, good: -1, at: -1}
}

// Moved notes new commits of main, oldest first.
func (f *Follow) Moved(commits ...object.ID) {
	if f.bad == len(f.chain) {
		f.bad += len(commits)
	}
	f.chain = append(f.chain, commits...)
}

// Next is the commit to check now; none if there is nothing to find out. It stays
// the same until Checked.
func (f *Follow) Next() (object.ID, bool) {
	if f.at < 0 {
		f.at = f.choose()
	}
	if f.at < 0 {
		return object.Zero, false
	}
	return f.chain[f.at], true
}

func (f *Follow) choose() int {
	newest := len(f.chain) - 1
	switch {
	case newest < 0:
		return -1
	case f.broken:
		if f.chain[newest] == f.tried {
			return -1
		}
		return newest
	case f.bad < len(f.chain):
		return (f.good + f.bad) / 2 // both ends are known, so this is between them
	default:
		return min(newest, f.policy.Batch-1)
	}
}

// Checked notes the result of the check of Next.
func (f *Follow) Checked(passed bool) Step {
	var s Step
	if f.at < 0 {
		return s
	}
	if !passed {
		if f.failed++; f.failed <= f.policy.Again {
			return s // once more
		}
	} else if f.failed > 0 {
		s.Flaky = f.chain[f.at]
	}
	at := f.at
	f.at, f.failed = -1, 0
	switch {
	case f.broken && !passed:
		f.tried = f.chain[at]
	case f.broken:
		f.broken, f.tried, f.good, f.bad = false, object.Zero, at, len(f.chain)
		s.Mended = true
		f.settle(&s)
	case passed:
		f.good = at
		f.settle(&s)
	default:
		if f.bad == len(f.chain) {
			f.tried = f.chain[at] // the search goes below it
		}
		f.bad = at
		f.settle(&s)
	}
	return s
}

// settle moves green where it can be, and says which landing broke main when that
// is known.
func (f *Follow) settle(s *Step) {
	searching := f.bad < len(f.chain)
	if searching && f.bad-f.good > 1 {
		return
	}
	if searching {
		s.Broken = f.chain[f.bad]
		f.broken = true
	}
	if f.good >= 0 {
		s.Green = f.chain[f.good]
		f.chain = append([]object.ID(nil), f.chain[f.good+1:]...)
		f.bad -= f.good + 1
		f.good = -1
	}
	if f.broken { // nothing is left to search
		f.bad = len(f.chain)
	}
}
