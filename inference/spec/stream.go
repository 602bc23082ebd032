package spec

// Stream is what is known of one running answer. It belongs to the goroutine that
// owns the Rates and the Shelf.
type Stream struct {
	index *Index
	rates *Rates
	shelf *Shelf
	own   [classes + 1]rate

	guess   []Token // of the last Guess or Made
	matched int
	class   int // of that guess
	// unmade counts tokens since a draft model last guessed.
	unmade int
	// shadow is a guess to be compared with what comes, of which known tokens were;
	// shadowClass is the class it was made in.
	shadow      []Token
	known       int
	shadowClass int

	// Drafted tokens were checked, Accepted ones of them were right.
	Drafted, Accepted int
}

// NewStream begins with the index of the prompt; index and shelf may be nil, and
// without an index there is no Guess.
func NewStream(x *Index, rates *Rates, shelf *Shelf) *Stream {
	return &Stream{index: x, rates: rates, shelf: shelf}
}

// Index of the text so far.
func (s *Stream) Index() *Index { return s.index }

// Offer is a guess to be decided about.
type Offer struct {
	// Tokens guessed, borrowed until the next Guess of the stream.
	Tokens []Token
	// Make is, where there are no Tokens, how many a draft model would make.
	Make int
	// Rate is the estimated probability that a token is right when those before are.
	Rate float64
}

// length is how many tokens can be checked.
func (o Offer) length() int { return max(len(o.Tokens), o.Make) }

// Better is the offer that is likelier to be right; what is there already, if none is.
func (o Offer) Better(other Offer) Offer {
	if o.length() == 0 || other.length() > 0 && other.Rate > o.Rate {
		return other
	}
	return o
}

// Guess looks for up to most tokens that may come next.
func (s *Stream) Guess(most int) Offer {
	s.guess = s.guess[:0]
	if most < 1 || s.index == nil {
		return Offer{}
	}
	s.guess, s.matched = s.index.Guess(s.guess, most)
	if s.shelf != nil && s.matched < longestMatch {
		if g, n := s.shelf.Guess(s.guess[len(s.guess):], s.index.tokens, most); n > s.matched {
			s.guess, s.matched = append(s.guess[:0], g...), n
		}
	}
	if len(s.guess) == 0 {
		return Offer{}
	}
	s.class = class(s.matched)
	if s.known == len(s.shadow) {
		s.watch(len(s.guess))
	}
	return Offer{Tokens: s.guess, Rate: s.rate(s.class)}
}

func (s *Stream) rate(class int) float64 { return s.own[class].mean(s.rates.mean(class), ownWeight) }

// A draft model that was not asked for so many tokens is taken to be right as often
// as it would have to be to pay almost anywhere: what it makes is not seen for
// nothing, as other guesses are, and texts change.
const (
	unmadeLong = 256
	unmadeRate = 0.8
)

// Draft offers what a draft model would make, up to most tokens.
func (s *Stream) Draft(most int) Offer {
	if most < 1 {
		return Offer{}
	}
	o := Offer{Make: most, Rate: s.rate(drafted)}
	if s.unmade >= unmadeLong {
		o.Rate = max(o.Rate, unmadeRate)
	}
	return o
}

// Made tells what a draft model made, for Take.
func (s *Stream) Made(tokens []Token) {
	s.guess, s.class, s.unmade = append(s.guess[:0], tokens...), drafted, 0
}

// watch has the first n tokens of the guess compared with what comes.
func (s *Stream) watch(n int) {
	s.shadow, s.known, s.shadowClass = append(s.shadow[:0], s.guess[:n]...), 0, s.class
}

// Take returns up to n first tokens of the last Guess or Made, to be checked.
func (s *Stream) Take(n int) []Token {
	n = min(n, len(s.guess))
	if n > 0 {
		s.watch(n)
	}
	return s.guess[:n]
}

// Drew tells which token was drawn.
func (s *Stream) Drew(t Token) {
	s.unmade++
	if s.index != nil {
		s.index.Push(t)
	}
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
