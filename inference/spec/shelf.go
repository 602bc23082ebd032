package spec

import "slices"

// trunk is how many first tokens two texts must share to be of one team.
const trunk = 64

// consulted bounds how many texts of a team are looked into for a guess.
const consulted = 4

// Shelf keeps finished texts, so that what one agent wrote helps to guess what
// another of the same team writes. Texts of other teams are never looked into. The
// oldest go when there are more bytes than may be.
type Shelf struct {
	limit, bytes int
	texts        []*Index // the newest last
}

// NewShelf makes a shelf for so many bytes.
func NewShelf(limit int) *Shelf { return &Shelf{limit: limit} }

// Put keeps a finished text, if there is one. It replaces one that it continues.
func (s *Shelf) Put(x *Index) {
	if x == nil || x.Len() < trunk || x.Bytes() > s.limit {
		return
	}
	kept := s.texts[:0]
	for _, t := range s.texts {
		if n := t.Len(); n <= x.Len() && slices.Equal(t.tokens, x.tokens[:n]) {
			s.bytes -= t.Bytes()
			continue
		}
		kept = append(kept, t)
	}
	clear(s.texts[len(kept):])
	s.texts = append(kept, x)
	s.bytes += x.Bytes()
	for s.bytes > s.limit {
		s.bytes -= s.texts[0].Bytes()
		s.texts[0] = nil
		s.texts = s.texts[1:]
	}
}

// Bytes that the texts take.
func (s *Shelf) Bytes() int { return s.bytes }

// Guess is Index.Guess in the newest texts of a team; the longest match of all of
// them counts.
func (s *Shelf) Guess(dst, text []Token, most int) (guess []Token, matched int) {
	if len(text) < trunk {
		return dst, 0
	}
	var best *Index
	place, left := 0, consulted
	for i := len(s.texts) - 1; i >= 0 && left > 0; i-- {
		t := s.texts[i]
		if !slices.Equal(t.tokens[:trunk], text[:trunk]) {
			continue
		}
		left--
		if at, n := t.find(text, -1); n > matched && at < t.Len() {
			best, place, matched = t, at, n
		}
	}
	if best == nil {
		return dst, 0
	}
	return best.follow(dst, place, min(most, best.Len()-place)), matched
}
