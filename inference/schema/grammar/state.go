package grammar

// State is a place in a text that a Matcher follows. It is a small value: a copy is
// a second State at the same place. The zero value is not usable; see Matcher.Start.
type State struct {
	m  *Matcher
	at *config
}

// Start is the place before any text.
func (m *Matcher) Start() State { return State{m, m.start} }

// Matcher is what the state belongs to.
func (s State) Matcher() *Matcher { return s.m }

// Accept moves on over text, or stays and returns false where the grammar does not
// allow it.
func (s *State) Accept(text []byte) bool {
	to := follow(s.m, s.at, text)
	if to == s.m.dead {
		return false
	}
	s.at = to
	return true
}

// AcceptToken moves on over a token, or stays and returns false where it is not
// allowed. After a token that ends the text nothing is.
func (s *State) AcceptToken(token int32) bool {
	to := s.token(token)
	if to == s.m.dead {
		return false
	}
	s.at = to
	return true
}

// Allows says whether a token may come next: one of text whose bytes the grammar
// allows, or one that ends the text where Done.
func (s State) Allows(token int32) bool { return s.token(token) != s.m.dead }

// Done says whether the text may end here.
func (s State) Done() bool { return s.at.done }

// Ended says whether a token has ended the text.
func (s State) Ended() bool { return s.at.ended }

func (s State) token(token int32) *config {
	v := s.m.vocabulary
	if token < 0 || int(token) >= len(v.kinds) {
		return s.m.dead
	}
	switch v.kinds[token] {
	case Text:
		if piece := v.piece(token); piece != "" {
			return follow(s.m, s.at, piece)
		}
	case End:
		if s.at.done {
			return s.m.ended
		}
	}
	return s.m.dead
}

// follow begins a call: it leads from a config over a text.
func follow[T string | []byte](m *Matcher, c *config, text T) *config {
	m.err, m.work = nil, 0
	return reach(m, c, text)
}

func reach[T string | []byte](m *Matcher, c *config, text T) *config {
	for i := 0; i < len(text) && c != m.dead; i++ {
		c = m.step(c, text[i])
	}
	return c
}

// maxForced bounds Forced, in bytes.
const maxForced = 1 << 10

// Forced returns the bytes that must come next, up to the first place where there is
// a choice or the text may end, and not all of them where they are very many.
func (s State) Forced() []byte {
	s.m.err, s.m.work = nil, 0
	var out []byte
	for c := s.at; len(out) < maxForced; {
		b, ok := s.m.only(c)
		if !ok {
			break
		}
		if c = s.m.step(c, b); c == s.m.dead {
			break
		}
		out = append(out, b)
	}
	return out
}

// only returns the byte that must follow a config, if there is just one.
func (m *Matcher) only(c *config) (byte, bool) {
	if c.done || len(c.threads) == 0 {
		return 0, false
	}
	first := m.grammar.edges[m.grammar.nodes[c.threads[0].node].first].lo
	for _, t := range c.threads {
		n := m.grammar.nodes[t.node]
		for _, x := range m.grammar.edges[n.first : n.first+n.count] {
			if x.lo != first || x.hi != first {
				return 0, false
			}
		}
	}
	return first, true
}
