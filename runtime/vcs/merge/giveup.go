package merge

// promising looks for a path that came far for the edits made and ends in a long
// run of equal lines: likely enough a part of the best path to cut the box there.
func (s *search) promising(edits, midF, midB int) (cutting, bool) {
	best, c := 0, cutting{exactLow: true}
	for d := s.forthHi; d >= s.forthLo; d -= 2 {
		a := int(s.forth[s.zero+d])
		b := a - d
		far := (a - s.loA) + (b - s.loB) - abs(d-midF)
		if far > promise*edits && far > best &&
			s.loA+snakeRun <= a && a < s.hiA && s.loB+snakeRun <= b && b < s.hiB &&
			s.equalRun(a-snakeRun, b-snakeRun) {
			best, c.a, c.b = far, a, b
		}
	}
	if best > 0 {
		return c, true
	}
	c = cutting{exactHigh: true}
	for d := s.backHi; d >= s.backLo; d -= 2 {
		a := int(s.back[s.zero+d])
		b := a - d
		far := (s.hiA - a) + (s.hiB - b) - abs(d-midB)
		if far > promise*edits && far > best &&
			s.loA < a && a <= s.hiA-snakeRun && s.loB < b && b <= s.hiB-snakeRun &&
			s.equalRun(a, b) {
			best, c.a, c.b = far, a, b
		}
	}
	return c, best > 0
}

// equalRun reports whether a long run of equal lines begins at a and b.
func (s *search) equalRun(a, b int) bool {
	for i := range snakeRun {
		if s.a[a+i] != s.b[b+i] {
			return false
		}
	}
	return true
}

// furthest cuts at the path that came furthest, of both searches.
func (s *search) furthest() cutting {
	sumF, lineF := -1, -1
	for d := s.forthHi; d >= s.forthLo; d -= 2 {
		a := min(int(s.forth[s.zero+d]), s.hiA)
		b := a - d
		if b > s.hiB {
			a, b = s.hiB+d, s.hiB
		}
		if a+b > sumF {
			sumF, lineF = a+b, a
		}
	}
	sumB, lineB := beyond, beyond
	for d := s.backHi; d >= s.backLo; d -= 2 {
		a := max(int(s.back[s.zero+d]), s.loA)
		b := a - d
		if b < s.loB {
			a, b = s.loB+d, s.loB
		}
		if a+b < sumB {
			sumB, lineB = a+b, a
		}
	}
	if s.hiA+s.hiB-sumB < sumF-(s.loA+s.loB) {
		return cutting{lineF, sumF - lineF, true, false}
	}
	return cutting{lineB, sumB - lineB, false, true}
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
