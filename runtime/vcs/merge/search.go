package merge

import "math"

// Rules of thumb of git's comparison. They decide which of several right answers
// is given, so they are the same numbers.
const (
	leastCost = 256 // edits that are always searched before a box gives up
	snakeRun  = 20  // equal lines in a row that make a path promising
	promise   = 4   // a path is promising if it went this many times the edits made
	eagerCost = 256 // edits after which promising paths are looked at
)

const beyond = math.MaxInt32

// A search finds a short edit from a to b by the greedy search on diagonals from
// both ends at once (Myers 1986): where the two meet, the box is cut in two, and
// each half is searched in the same memory. Diagonal d holds the points whose line
// in a is d more than that in b.
type search struct {
	a, b             []int32 // classes of lines
	goneA, goneB     func(i int)
	forth, back      []int32 // furthest line of a on each diagonal, from either end
	zero             int     // where diagonal 0 is in these
	cost             int     // edits after which a box gives up looking for the shortest
	work             *budget
	loA, hiA         int // the box
	loB, hiB         int
	forthLo, forthHi int // diagonals in use
	backLo, backHi   int
}

// A cutting is where a box is cut. A half whose shortest edit is not known to be
// short enough may give up again; the other may not.
type cutting struct {
	a, b                int
	exactLow, exactHigh bool
}

func newSearch(a, b []int32, goneA, goneB func(int), work *budget) *search {
	diagonals := len(a) + len(b) + 3
	return &search{
		a: a, b: b, goneA: goneA, goneB: goneB,
		forth: make([]int32, diagonals), back: make([]int32, diagonals),
		zero: len(b) + 1,
		cost: max(roughRoot(diagonals), leastCost),
		work: work,
	}
}

// roughRoot is the square root of n, up to a factor of two or so.
func roughRoot(n int) int {
	r := 1
	for ; n > 0; n >>= 2 {
		r <<= 1
	}
	return r
}

// run marks what is gone from a and from b between the given lines. It stops
// early, with nothing of use, when the work is spent.
func (s *search) run(loA, hiA, loB, hiB int, exact bool) {
	for loA < hiA && loB < hiB && s.a[loA] == s.b[loB] {
		loA, loB = loA+1, loB+1
	}
	for loA < hiA && loB < hiB && s.a[hiA-1] == s.b[hiB-1] {
		hiA, hiB = hiA-1, hiB-1
	}
	switch {
	case s.work.spent():
	case loA == hiA:
		for ; loB < hiB; loB++ {
			s.goneB(loB)
		}
	case loB == hiB:
		for ; loA < hiA; loA++ {
			s.goneA(loA)
		}
	default:
		s.loA, s.hiA, s.loB, s.hiB = loA, hiA, loB, hiB
		c := s.cut(exact)
		s.run(loA, c.a, loB, c.b, c.exactLow)
		s.run(c.a, hiA, c.b, hiB, c.exactHigh)
	}
}

// cut widens both searches by one edit at a time until they meet, or until the
// search is given up for the best path so far.
func (s *search) cut(exact bool) cutting {
	midF, midB := s.loA-s.loB, s.hiA-s.hiB
	odd := (midF-midB)&1 != 0
	s.forthLo, s.forthHi = midF, midF
	s.backLo, s.backHi = midB, midB
	s.forth[s.zero+midF] = int32(s.loA)
	s.back[s.zero+midB] = int32(s.hiA)
	for edits := 1; ; edits++ {
		a, d, ranF, met := s.forward(odd)
		if met {
			return cutting{a, a - d, true, true}
		}
		a, d, ranB, met := s.backward(odd)
		if met {
			return cutting{a, a - d, true, true}
		}
		if s.work.spent() { // any cut inside the box will do: no answer comes of it
			return cutting{s.loA, s.hiB, false, false}
		}
		if exact {
			continue
		}
		if (ranF || ranB) && edits > eagerCost {
			if c, ok := s.promising(edits, midF, midB); ok {
				return c
			}
		}
		if edits >= s.cost {
			return s.furthest()
		}
	}
}

// grow widens the diagonals lo..hi by one on either side, within the box; where
// the box ends, it narrows them, so that every second diagonal is used. Outer
// neighbours get a value that never wins.
func (s *search) grow(v []int32, lo, hi *int, never int32) {
	if *lo > s.loA-s.hiB {
		*lo--
		v[s.zero+*lo-1] = never
	} else {
		*lo++
	}
	if *hi < s.hiA-s.loB {
		*hi++
		v[s.zero+*hi+1] = never
	} else {
		*hi--
	}
}

// forward makes one more edit from the beginning. It reports where it met the
// other search, if it did, and whether there was a long run of equal lines.
func (s *search) forward(odd bool) (line, diagonal int, ran, met bool) {
	s.grow(s.forth, &s.forthLo, &s.forthHi, -1)
	s.work.spend((s.forthHi-s.forthLo)/2 + 1)
	for d := s.forthHi; d >= s.forthLo; d -= 2 {
		at := s.zero + d
		a := int(s.forth[at+1])
		if s.forth[at-1] >= s.forth[at+1] {
			a = int(s.forth[at-1]) + 1
		}
		from := a
		for b := a - d; a < s.hiA && b < s.hiB && s.a[a] == s.b[b]; b++ {
			a++
		}
		s.work.spend(a - from)
		ran = ran || a-from > snakeRun
		s.forth[at] = int32(a)
		if odd && s.backLo <= d && d <= s.backHi && int(s.back[at]) <= a {
			return a, d, ran, true
		}
	}
	return 0, 0, ran, false
}

// backward is forward from the end.
func (s *search) backward(odd bool) (line, diagonal int, ran, met bool) {
	s.grow(s.back, &s.backLo, &s.backHi, beyond)
	s.work.spend((s.backHi-s.backLo)/2 + 1)
	for d := s.backHi; d >= s.backLo; d -= 2 {
		at := s.zero + d
		a := int(s.back[at+1]) - 1
		if s.back[at-1] < s.back[at+1] {
			a = int(s.back[at-1])
		}
		from := a
		for b := a - d; a > s.loA && b > s.loB && s.a[a-1] == s.b[b-1]; b-- {
			a--
		}
		s.work.spend(from - a)
		ran = ran || from-a > snakeRun
		s.back[at] = int32(a)
		if !odd && s.forthLo <= d && d <= s.forthHi && a <= int(s.forth[at]) {
			return a, d, ran, true
		}
	}
	return 0, 0, ran, false
}
