package engine

// Common compares two vocabularies: the tokens 0..n-1, of which the smaller one has
// no more, have the same text in both. ok is false where they have not; n is then
// the first that differs. Files pad their vocabularies to round sizes, so that
// models of one family may have more tokens than others behind all that mean
// something.
func (v *Vocabulary) Common(other *Vocabulary) (n Token, ok bool) {
	n = Token(min(len(v.ends), len(other.ends)))
	for t := range n {
		if v.ends[t] != other.ends[t] || v.Piece(t, true) != other.Piece(t, true) {
			return t, false
		}
	}
	return n, true
}
