package spec

// Stream is what is known of one running answer. It belongs to the goroutine that
// owns the Rates and the Shelf.
type Stream struct {
	index *Index
	rates *Rates
	shelf *Shelf
	own   [classes]rate

	guess   []Token // of the last Guess
	matched int
	// shadow is a guess to be compared with what comes, of which known tokens were;
	// shadowClass is the class it was made in.
	shadow      []Token
	known       int
	shadowClass int

	// Drafted tokens were checked, Accepted ones of them were right.
	Drafted, Accepted int
}

// NewStream begins with the index of the prompt; shelf may be nil.
func NewStream(x *Index, rates *Rates, shelf *Shelf) *Stream {
	return &Stream{index: x, rates: rates, shelf: shelf}
}

// Index of the text so far.
func (s *Stream) Index() *Index { return s.index }

// Offer is a guess to be decided about.
type Offer struct {
	// Tokens guessed, borrowed until the next Guess of the stream.
	Tokens []Token
	// Rate is the estimated probability that a token is right when those before are.
	Rate float64
}

// Guess looks for up to most tokens that may come next.
func (s *Stream) Guess(most int) Offer {
	if most < 1 {
		return Offer{}
	}
	s.guess, s.matched = s.index.Guess(s.guess[:0], most)
	if s.shelf != nil && s.matched < longestMatch {
		if g, n := s.shelf.Guess(s.guess[len(s.guess):], s.index.tokens, most); n > s.matched {
			s.guess, s.matched = append(s.guess[:0], g...), n
		}
	}
	if len(s.guess) == 0 {
		return Offer{}
	}
	if s.known == len(s.shadow) {
		s.watch(len(s.guess))
	}
	c := class(s.matched)
	return Offer{Tokens: s.guess, Rate: s.own[c].mean(s.rates.mean(c), ownWeight)}
}

// watch has the first n tokens of the guess compared with what comes.
func (s *Stream) watch(n int) {
	s.shadow, s.known, s.shadowClass = append(s.shadow[:0], s.guess[:n]...), 0, class(s.matched)
}

// Take returns the first n tokens of the last Guess, to be checked.
func (s *Stream) Take(n int) []Token {
	if n > 0 {
		s.watch(n)
	}
	return s.guess[:n]
}

// Drew tells which token was drawn.
func (s *Stream) Drew(t Token) {
	s.index.Push(t)
	if s.known == len(s.shadow) {
		return
	}
	right := t == s.shadow[s.known]
	s.own[s.shadowClass].see(right)
	s.rates.of[s.shadowClass].see(right)
	if s.known++; !right {
		s.known = len(s.shadow)
	}
}

// Checked tells what became of a guess that was checked.
func (s *Stream) Checked(drafted, accepted int) {
	s.Drafted += drafted
	s.Accepted += accepted
}
