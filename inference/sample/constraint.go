package sample

import "math/bits"

// Constraint says which tokens may follow the ones accepted so far, of the form that
// an answer must have. It is asked by one goroutine at a time.
type Constraint interface {
	// Free reports that nothing is excluded at this place.
	Free() bool
	// Allows reports whether a token may follow.
	Allows(token int32) bool
	// Allowed are all the tokens that may: bit t%64 of word t/64. It is only read, and
	// not kept.
	Allowed() []uint64
	// Accept takes the token that follows, an allowed one.
	Accept(token int32)
}

// spares are how many tokens beyond those that a cut keeps are ranked before the
// constraint is asked for all that it allows: most tokens that are likely are
// allowed, and to ask about few is cheap.
const spares = 24

// Constrain keeps the sampler from drawing what c excludes: as if the logits of such
// tokens were -Inf. It is called once, before anything else.
func (s *Sampler) Constrain(c Constraint) {
	k := s.topK
	switch {
	case s.Greedy():
		k = 1
	case s.mirostat != nil:
		k = MaxTopK
	}
	s.constraint = c
	s.ranking = newRanking(k, s.changes)
	s.wide = newRanking(k+spares, s.changes)
	if cap(s.candidates) < k {
		s.candidates = make([]candidate, 0, k)
	}
}

// constrained reports whether anything is excluded at this place.
func (s *Sampler) constrained() bool { return s.constraint != nil && !s.constraint.Free() }

// rankAllowed leaves in s.ranking the best of the allowed tokens.
func (s *Sampler) rankAllowed(logits []float32) {
	s.wide.collect(logits)
	r := s.ranking
	r.keys = r.keys[:0]
	for _, k := range s.wide.keys {
		if s.constraint.Allows(k.token()) {
			if r.keys = append(r.keys, k); len(r.keys) == r.k {
				return
			}
		}
	}
	if len(s.wide.keys) == s.wide.k { // there are more in the row
		r.collectOf(logits, s.constraint.Allowed())
	}
}

// collectOf is collect over the tokens whose bits are set.
func (r *ranking) collectOf(logits []float32, allowed []uint64) {
	r.reset()
	for i, word := range allowed {
		for ; word != 0; word &= word - 1 {
			t := 64*i + bits.TrailingZeros64(word)
			if t >= len(logits) {
				break
			}
			v := logits[t]
			if r.changes != nil && r.changes.has(int32(t)) {
				v = r.changes.logit(r.changes.slots[r.changes.slot(int32(t))], v)
			}
			if v > r.bound {
				r.add(newKey(v, int32(t)))
			}
		}
	}
	r.shrink()
	sortKeys(r.keys)
}
