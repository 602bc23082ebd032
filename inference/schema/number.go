package schema

import (
	"cmp"
	"fmt"
	"strings"

	"dure/inference/schema/grammar"
	"dure/inference/schema/pattern"
)

const (
	// mostDigits is how many digits a bound may make numbers have on either side of
	// their point.
	mostDigits = 40
	// maxStep is the largest step, without its point and the zeros at its end, whose
	// multiples are told from other numbers: each possible remainder is a state.
	maxStep = 128
)

// emitNumber is the numbers of one alternative.
func (c *compiler) emitNumber(f *flat, t types) grammar.Expr {
	fraction := t&typeFraction != 0
	if f.low == nil && f.high == nil && f.step == nil {
		return c.lexicon.anyNumber(fraction)
	}
	key := fmt.Sprint(fraction, f.low, f.high, f.step)
	if e := c.numbers[key]; e != nil {
		return e
	}
	rule := grammar.NewRule("number of #" + f.at.path)
	c.numbers[key] = rule
	rule.Define(c.numberOf(f, fraction))
	return rule
}

func (c *compiler) numberOf(f *flat, fraction bool) grammar.Expr {
	m, low, high := c.magnitudes(f, fraction)
	zero := &bound{exclusive: true}
	above, aboveErr := m.between(tighter(low, zero, 1), high)
	below, belowErr := m.between(tighter(negated(high), zero, 1), negated(low)) // the other way round
	if err := cmp.Or(aboveErr, belowErr); err != nil {
		keyword := "minimum"
		if m.step != nil {
			keyword = "multipleOf"
		}
		c.refuse(f.at, keyword, "%v", err)
		return c.lexicon.anyNumber(fraction)
	}
	c.spend(1 + (above.Size()+below.Size())/automatonWork)
	e := grammar.Concat(
		grammar.Alternative(graph(above, plainOf), grammar.Concat(grammar.Literal("-"), graph(below, plainOf))),
		grammar.Literal(strings.Repeat("0", m.zeros)))
	if low.allowsAbove(decimal{}) && high.allowsBelow(decimal{}) {
		return grammar.Alternative(grammar.Literal("0"), e)
	}
	return e
}

// magnitudes says how numbers above and below zero are written, and the bounds of what
// stands before the zeros at their ends.
func (c *compiler) magnitudes(f *flat, fraction bool) (m magnitudes, low, high *bound) {
	m, low, high = magnitudes{fraction: fraction, step: f.step}, f.low, f.high
	if f.step == nil {
		return m, low, high
	}
	step := *f.step
	if step.integer() {
		m.fraction = false
		for strings.HasSuffix(step.whole, "0") {
			step.whole = step.whole[:len(step.whole)-1]
			m.zeros++
		}
		low, high = low.tenths(m.zeros), high.tenths(m.zeros)
	}
	if n := step.scaled(len(step.fraction)); !n.IsInt64() || n.Int64() > maxStep {
		c.refuse(f.at, "multipleOf", "of steps, only those up to %d, without their point and zeros at the end, can be guaranteed", maxStep)
		return magnitudes{fraction: fraction}, f.low, f.high
	}
	m.step = &step
	return m, low, high
}

// tenths is the bound of numbers that many digits shorter.
func (b *bound) tenths(places int) *bound {
	if b == nil || places == 0 {
		return b
	}
	digits := strings.Repeat("0", places) + b.whole
	point := len(digits) - places
	return &bound{decimal{b.negative, strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:]+b.fraction, "0")}, b.exclusive}
}

func plainOf(ranges []grammar.Range) grammar.Expr { return grammar.Class(ranges...) }

// negated is the bound that the negatives of numbers have.
func negated(b *bound) *bound {
	if b == nil {
		return nil
	}
	return &bound{b.decimal.negated(), b.exclusive}
}

// magnitudes makes automata of numbers above zero.
type magnitudes struct {
	fraction bool
	step     *decimal
	zeros    int // that follow each number
}

// between is the numbers between two bounds, of which the lower one is zero or above;
// the other may be nil.
func (m magnitudes) between(low, high *bound) (*pattern.Automaton, error) {
	if apart(low, high) {
		return &pattern.Automaton{}, nil
	}
	w := &walker{low: limitOf(low), high: limitOf(high), places: maxFraction, digits: maxDigits - min(m.zeros, maxDigits-1), step: 1}
	if !m.fraction {
		w.places = 0
	}
	for _, b := range []*bound{low, high} {
		if b != nil && len(b.whole) <= mostDigits {
			w.digits = max(w.digits, len(b.whole))
		}
		if b != nil && m.fraction {
			w.places = max(w.places, len(b.fraction)+1)
		}
	}
	if len(low.whole) > mostDigits || w.places > mostDigits {
		return nil, fmt.Errorf("the numbers would have more than %d digits on one side of their point; use rounder bounds", mostDigits)
	}
	if m.step != nil {
		w.stepPlaces = len(m.step.fraction)
		w.step = int(m.step.scaled(w.stepPlaces).Int64())
		w.places = min(w.places, w.stepPlaces)
	}
	return pattern.Walk(walk{}, "0123456789.", w.next, w.final)
}

// limit is a bound in digits.
type limit struct {
	whole, fraction string
	exclusive, none bool
}

func limitOf(b *bound) limit {
	if b == nil {
		return limit{none: true}
	}
	return limit{b.whole, b.fraction, b.exclusive, false}
}

// walker reads numbers digit by digit.
type walker struct {
	low, high      limit
	digits, places int // at most, before and behind the point
	step           int // in units of the last of stepPlaces
	stepPlaces     int
}

// walk is what has to be known of the digits so far.
type walk struct {
	point     bool
	zero      bool // the whole part is a single 0
	n         int  // digits of the part in hand
	low, high int8 // -1, 0, 1: the number so far against that of the bound
	rest      int  // of the division by step
}

func (w *walker) next(s walk, r rune) (walk, bool) {
	if r == '.' {
		if s.point || s.n == 0 || w.places == 0 {
			return s, false
		}
		n := s.n
		if s.zero {
			n = 0
		}
		s.low, s.high = w.low.atPoint(s.low, n), w.high.atPoint(s.high, n)
		s.point, s.n, s.zero = true, 0, false
		return s, w.possible(s)
	}
	digit := int(r - '0')
	most := w.digits
	if s.point {
		most = w.places
	}
	if s.zero || s.n == most {
		return s, false
	}
	s.zero = !s.point && s.n == 0 && digit == 0
	if !s.zero {
		s.low, s.high = w.low.add(s.low, s.point, s.n, r), w.high.add(s.high, s.point, s.n, r)
	}
	s.n++
	s.rest = (10*s.rest + digit) % w.step
	return s, !s.point || w.possible(s)
}

// add compares one more digit with that of the bound at the same place.
func (l limit) add(so int8, point bool, n int, r rune) int8 {
	digits := l.whole
	if point {
		digits = l.fraction
	}
	switch {
	case l.none || so != 0:
		return so
	case n < len(digits):
		return int8(cmp.Compare(byte(r), digits[n]))
	case point && r == '0':
		return 0 // zeros behind the bound's last digit
	case point:
		return 1
	}
	return 0 // a longer number: see atPoint
}

// atPoint compares whole parts, of which the digits were compared so far.
func (l limit) atPoint(so int8, n int) int8 {
	if l.none {
		return 0
	}
	return int8(cmp.Or(cmp.Compare(n, len(l.whole)), int(so)))
}

// possible says whether a number that is at its fraction can still be within the
// bounds: what is above the high one, or below the low one, stays so.
func (w *walker) possible(s walk) bool {
	return (w.high.none || s.high <= 0) && (w.low.none || s.low >= 0)
}

func (w *walker) final(s walk) bool {
	if s.n == 0 {
		return false
	}
	places := 0
	if s.point {
		places = s.n
	} else {
		n := s.n
		if s.zero {
			n = 0
		}
		s.low, s.high = w.low.atPoint(s.low, n), w.high.atPoint(s.high, n)
		s.n = 0
	}
	low, high := w.low.atEnd(s.low, s.n), w.high.atEnd(s.high, s.n)
	if !w.low.none && (low < 0 || low == 0 && w.low.exclusive) || !w.high.none && (high > 0 || high == 0 && w.high.exclusive) {
		return false
	}
	rest := s.rest
	for range w.stepPlaces - places {
		rest = rest * 10 % w.step
	}
	return rest == 0
}

// atEnd compares a number of n digits behind its point, alike so far, with the bound.
func (l limit) atEnd(so int8, n int) int8 {
	if so == 0 && n < len(l.fraction) {
		return -1
	}
	return so
}
