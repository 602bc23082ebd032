package spec

import (
	"math"
	"testing"

	"dure/inference"
	"dure/inference/sample"
)

// words is a vocabulary without text.
type words int

func (w words) Size() int                        { return int(w) }
func (words) Pieces() (string, []uint32)         { return "", nil }
func (words) Tokenize(string) ([]int32, error)   { return nil, nil }
func logitsAfter(last Token, size int) []float32 { return logitsOf(int(last), size) }

// logitsOf is a model: the next token depends on the one before.
func logitsOf(last, size int) []float32 {
	row := make([]float32, size)
	for i := range row {
		row[i] = float32((last*7+i*3)%size) / 2
	}
	return row
}

// write draws n tokens with guesses of some kind, or none.
func write(t *testing.T, p inference.Params, n int, guess func(last Token) []Token) (text []Token) {
	t.Helper()
	const size = 6
	s, err := sample.New(p, words(size))
	if err != nil {
		t.Fatal(err)
	}
	text = []Token{0}
	for len(text) <= n {
		guessed := guess(text[len(text)-1])
		begin := len(text)
		accepted := Verify(guessed, func(i int) (Token, bool) {
			if len(text) != begin+i {
				t.Fatalf("row %d drawn after %d tokens", i, len(text)-begin)
			}
			next, err := s.Sample(logitsAfter(text[len(text)-1], size))
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, next)
			s.Accept(next)
			return next, len(text) <= n
		})
		if got := len(text) - begin; got != accepted+1 {
			t.Fatalf("%d accepted, %d drawn", accepted, got)
		}
		for i := range accepted {
			if text[begin+i] != guessed[i] {
				t.Fatalf("accepted %v, drew %v", guessed[:accepted], text[begin:])
			}
		}
	}
	return text
}

var guesses = map[string]func(Token) []Token{
	"none":          func(Token) []Token { return nil },
	"always wrong":  func(Token) []Token { return []Token{99, 99} },
	"the same":      func(last Token) []Token { return []Token{last, last, last} },
	"counting":      func(last Token) []Token { return []Token{last + 1, last + 2, last + 3, last + 4} },
	"the likeliest": likeliest,
}

func likeliest(last Token) (out []Token) {
	for range 5 {
		row, best := logitsOf(int(last), 6), 0
		for i, v := range row {
			if v > row[best] {
				best = i
			}
		}
		last = Token(best)
		out = append(out, last)
	}
	return out
}

// The text is the same with any guesses, also the one that a seed draws.
func TestGuessesChangeNothing(t *testing.T) {
	for name, p := range map[string]inference.Params{
		"greedy":    {TopP: 1},
		"sampled":   {Temperature: 1, TopP: 1, Seed: 5},
		"cut":       {Temperature: 0.7, TopP: 0.8, TopK: 4, MinP: 0.05, Seed: 6},
		"penalties": {Temperature: 1, TopP: 1, Seed: 7, Penalties: inference.Penalties{Repeat: 1.2, Frequency: 0.3, LastN: 8}},
		"bias":      {Temperature: 1, TopP: 1, Seed: 8, LogitBias: []inference.TokenBias{{Token: 2, Bias: -100}}},
		"mirostat":  {Temperature: 1, TopP: 1, Seed: 9, Mirostat: inference.Mirostat{Version: 2, Tau: 1.5}},
	} {
		want := write(t, p, 400, guesses["none"])
		for kind, guess := range guesses {
			got := write(t, p, 400, guess)
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s, guesses %s: token %d is %d, without guesses %d", name, kind, i, got[i], want[i])
					break
				}
			}
		}
	}
}

// How often each token follows each other is what the model says, with guesses that
// are right now and then: chi-square, 5 degrees of freedom for each token before.
func TestDistributionIsTheModels(t *testing.T) {
	const n, size = 60000, 6
	text := write(t, inference.Params{Temperature: 1, TopP: 1, TopK: size, Seed: 11}, n, likeliest)
	var seen [size][size]float64
	for i := 1; i < len(text); i++ {
		seen[text[i-1]][text[i]]++
	}
	for last, row := range seen {
		var total, weights, chi float64
		logits := logitsOf(last, size)
		for i := range row {
			total += row[i]
			weights += math.Exp(float64(logits[i]))
		}
		if total < 500 {
			continue
		}
		for i := range row {
			want := total * math.Exp(float64(logits[i])) / weights
			chi += (row[i] - want) * (row[i] - want) / want
		}
		if chi > 20.5 { // p = 0.001
			t.Errorf("after token %d: chi-square %.1f over %v", last, chi, row)
		}
	}
}

func TestVerifyStopsWhereTheAnswerEnds(t *testing.T) {
	guess := []Token{1, 2, 3, 4}
	drawn := 0
	accepted := Verify(guess, func(i int) (Token, bool) {
		drawn++
		return guess[i], i < 2 // the answer ends with the third token
	})
	if accepted != 2 || drawn != 3 {
		t.Errorf("%d accepted, %d drawn; want 2 and 3", accepted, drawn)
	}
}
