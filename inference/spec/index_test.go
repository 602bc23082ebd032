package spec

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// longest is what an Index should find, the slow way: of the tries newest earlier
// places that end in the same MinMatch tokens, the one with the most in common.
func longest(text, end []Token, self int) (at, matched int) {
	left := tries
	for p := len(text); p >= MinMatch && left > 0; p-- {
		if p == self || len(end) < MinMatch || common(text[:p], end) < MinMatch {
			continue
		}
		left--
		if n := common(text[:p], end); n > matched {
			at, matched = p, n
		}
	}
	return at, matched
}

func TestIndexFindsTheLongestEarlierPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few texts have more than tries places of few tokens, and no hash of these
		// collides often enough to hide one.
		token := rapid.Int32Range(0, 3)
		begin := rapid.SliceOfN(token, 0, 60).Draw(t, "prompt")
		x := NewIndex(begin)
		text := slices.Clone(begin)
		for _, next := range rapid.SliceOfN(token, 0, 40).Draw(t, "answer") {
			x.Push(next)
			text = append(text, next)
		}
		most := rapid.IntRange(1, 20).Draw(t, "most")
		guess, matched := x.Guess(nil, most)
		at, want := longest(text, text, len(text))
		if matched != want {
			t.Fatalf("%v: matched %d, want %d", text, matched, want)
		}
		if want == 0 {
			if len(guess) != 0 {
				t.Fatalf("guessed %v without a match", guess)
			}
			return
		}
		if len(guess) != most {
			t.Fatalf("%d tokens guessed, want %d", len(guess), most)
		}
		whole := append(slices.Clone(text[:at]), guess...) // what follows goes on as the text does
		for i := at; i < len(whole); i++ {
			was := Token(0)
			if i < len(text) {
				was = text[i]
			} else {
				was = whole[at+i-len(text)]
			}
			if whole[i] != was {
				t.Fatalf("%v: guess %v behind %d", text, guess, at)
			}
		}
	})
}

func TestIndexGrowsAsIfItWereNew(t *testing.T) {
	text := make([]Token, 3000)
	for i := range text {
		text[i] = Token(i * i % 97)
	}
	grown := NewIndex(text[:10])
	for _, next := range text[10:] {
		grown.Push(next)
	}
	whole := NewIndex(text)
	a, n := grown.Guess(nil, 32)
	b, m := whole.Guess(nil, 32)
	if n == 0 || n != m || !slices.Equal(a, b) {
		t.Errorf("grown: %d in common, %v; new: %d, %v", n, a, m, b)
	}
	if bytes := grown.Bytes(); bytes > 24*len(text) {
		t.Errorf("%d bytes for %d tokens", bytes, len(text))
	}
}

func TestShelfKeepsToItsTeamAndItsLimit(t *testing.T) {
	text := func(team Token, more ...Token) []Token {
		var all []Token
		for i := range Token(trunk) {
			all = append(all, 1000*team+i)
		}
		return append(all, more...)
	}
	s := NewShelf(1 << 20)
	s.Put(NewIndex(text(1, 7, 8, 9, 10, 11, 12)))
	if guess, n := s.Guess(nil, text(1, 5, 7, 8, 9), 8); n != 3 || !slices.Equal(guess, []Token{10, 11, 12}) {
		t.Errorf("own team: %v, %d in common", guess, n)
	}
	if guess, n := s.Guess(nil, text(2, 5, 7, 8, 9), 8); n != 0 || len(guess) != 0 {
		t.Errorf("another team's text was used: %v", guess)
	}
	if guess, n := s.Guess(nil, text(1, 10, 11, 12), 8); n != 0 || len(guess) != 0 {
		t.Errorf("nothing follows, yet %v", guess)
	}
	s.Put(NewIndex(text(1, 7, 8, 9, 10, 11, 12, 13)))
	if len(s.texts) != 1 {
		t.Errorf("%d texts, one continues the other", len(s.texts))
	}
	for i := range Token(2000) {
		s.Put(NewIndex(text(i+3, i)))
		if s.Bytes() > 1<<20 {
			t.Fatalf("%d bytes on the shelf", s.Bytes())
		}
	}
	sum := 0
	for _, x := range s.texts {
		sum += x.Bytes()
	}
	if sum != s.Bytes() || len(s.texts) < 100 {
		t.Errorf("%d texts of %d bytes, %d counted", len(s.texts), sum, s.Bytes())
	}
}
