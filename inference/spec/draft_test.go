package spec

import (
	"math/rand/v2"
	"testing"
)

// drafts runs streams for which a draft model guesses, right with a probability, for
// so many ns a call, and returns tokens a second with it and without.
func drafts(p *Policy, m machine, call float64, streams int, right float64, steps int) (with, without float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	var rates Rates
	all := make([]*Stream, streams)
	for i := range all {
		all[i] = NewStream(nil, &rates, nil)
	}
	var took, tokens float64
	for range steps {
		offers := make([]Offer, streams)
		for i, s := range all {
			offers[i] = s.Guess(20).Better(s.Draft(20))
		}
		depths := p.Choose(Step{Context: 1000, Offers: offers})
		rows, calls := streams, 0
		for i, s := range all {
			guess := make([]Token, depths[i]) // tokens 0, of which others are wrong
			rows, calls = rows+len(guess), max(calls, len(guess))
			if len(guess) > 0 {
				s.Made(guess)
			}
			Verify(s.Take(len(guess)), func(int) (Token, bool) {
				t := Token(1)
				if rng.Float64() < right {
					t = 0
				}
				s.Drew(t)
				tokens++
				return t, true
			})
		}
		for k := range calls {
			n := 0
			for _, d := range depths {
				if d > k {
					n++
				}
			}
			c := call * (1 + 0.05*float64(n))
			p.Made(n, 1000, int64(c))
			took += c
		}
		step := m(streams, rows) * (0.95 + 0.1*rng.Float64())
		took += step
		p.Observe(streams, 1000, rows, int64(step))
	}
	return tokens / took, float64(streams) / m(streams, streams)
}

func TestDraftsAreMadeWhereTheyPay(t *testing.T) {
	for _, c := range []struct {
		name        string
		m           machine
		call        float64
		streams     int
		right, most float64
		least       float64
	}{
		{"card, cheap draft, most right", card, 1e6, 1, 0.8, 9, 2.2},
		{"card, 4 streams", card, 1e6, 4, 0.8, 9, 1.8},
		{"card, half right", card, 2e6, 1, 0.5, 9, 1.3},
		{"card, nothing right", card, 2e6, 1, 0, 1.02, 0.97},
		{"card, the model itself", card, 20e6, 1, 1, 1.6, 0.97},
		{"steep, cheap draft", steep, 1e6, 1, 0.5, 1.5, 0.97},
		{"steep, dear draft", steep, 15e6, 1, 0.7, 1.5, 0.97},
		{"dear, 8 streams", dear, 5e6, 8, 0.6, 1.02, 0.97},
	} {
		p := &Policy{Limits: Limits{Rows: 64, Guesses: 63}}
		p.Read(600, 512, int64(512*c.m(1, 64)/64))
		with, without := drafts(p, c.m, c.call, c.streams, c.right, 3000)
		t.Logf("%s: %.2f", c.name, with/without)
		if r := with / without; r < c.least || r > c.most {
			t.Errorf("%s: %.3f of the speed without, want %.2f to %.2f", c.name, r, c.least, c.most)
		}
	}
}

// A draft model that was wrong for long is tried again, and taken up when it is right.
func TestDraftsAreTriedAgain(t *testing.T) {
	var rates Rates
	for range 200 {
		rates.of[drafted].see(false)
	}
	s := NewStream(nil, &rates, nil)
	if o := s.Draft(8); o.Rate > 0.3 {
		t.Errorf("rate %.2f after many wrong guesses", o.Rate)
	}
	for range unmadeLong {
		s.Drew(1)
	}
	if o := s.Draft(8); o.Make != 8 || o.Rate < unmadeRate {
		t.Errorf("%+v: it is not tried again", o)
	}
	s.Made([]Token{1, 2})
	if o := s.Draft(8); o.Rate > 0.5 {
		t.Errorf("rate %.2f right after it was tried", o.Rate)
	}
	if o := s.Draft(0); o.length() != 0 {
		t.Errorf("%+v where there is no room", o)
	}
}

// What is likelier counts; what is there already, where both are as likely.
func TestBetterOffer(t *testing.T) {
	found, made := Offer{Tokens: []Token{1, 2}, Rate: 0.6}, Offer{Make: 5, Rate: 0.7}
	for _, c := range []struct{ a, b, want Offer }{
		{found, made, made}, {found, Offer{Make: 5, Rate: 0.6}, found}, {Offer{}, made, made}, {found, Offer{}, found}, {found, Offer{Rate: 1}, found},
	} {
		if got := c.a.Better(c.b); got.length() != c.want.length() || got.Rate != c.want.Rate {
			t.Errorf("%+v or %+v: %+v", c.a, c.b, got)
		}
	}
}
