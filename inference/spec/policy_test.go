package spec

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// machine says what steps take, in ns.
type machine func(streams, rows int) float64

// steep is a CPU at a long context: up to 63 rows cost nearly what they would one by
// one, then half.
func steep(_, rows int) float64 {
	switch {
	case rows == 1:
		return 28.7e6
	case rows < 64:
		return 20e6 * (float64(rows) + 0.5)
	}
	return 8.3e6 * float64(rows)
}

// card is a graphics card: rows are nearly free.
func card(_, rows int) float64 { return 20e6 + 0.2e6*float64(rows) }

// dear is a machine where nothing is to be won.
func dear(_, rows int) float64 { return 10e6 * float64(rows) }

// world runs streams whose guesses are right with a probability, and returns tokens
// a second with guesses and without.
func world(p *Policy, m machine, streams int, right float64, steps int) (with, without float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	rate := rate{}
	var took, tokens float64
	for range steps {
		offers := make([]Offer, streams)
		for i := range offers {
			offers[i] = Offer{Tokens: make([]Token, 63), Rate: rate.mean(firstGuess, firstWeight)}
		}
		depths := p.Choose(Step{Context: 1000, Offers: offers})
		rows := streams
		for _, d := range depths {
			rows += d
			tokens++
			for k := range max(d, 1) { // at least the shadow of one is seen
				ok := rng.Float64() < right
				rate.see(ok)
				if !ok {
					break
				}
				if k < d {
					tokens++
				}
			}
		}
		step := m(streams, rows) * (0.95 + 0.1*rng.Float64())
		took += step
		p.Observe(streams, 1000, rows, int64(step))
	}
	return tokens / took, float64(streams) / m(streams, streams)
}

func TestPolicyIsNeverSlowerAndWinsWhereThereIsSomethingToWin(t *testing.T) {
	for _, c := range []struct {
		name    string
		m       machine
		streams int
		right   float64
		least   float64
		blind   bool // no prompt was read that says what rows cost
	}{
		{"nothing right", steep, 1, 0, 0.97, false},
		{"card, nothing right", card, 1, 0, 0.97, false},
		{"dear, all right", dear, 1, 0.99, 0.97, false},
		{"dear, 8 streams", dear, 8, 0.6, 0.97, false},
		{"steep, few right", steep, 1, 0.3, 0.97, false},
		{"card, half right", card, 1, 0.5, 1.6, false},
		{"card, most right", card, 1, 0.9, 5, false},
		{"card, 8 streams", card, 8, 0.8, 2, false},
		{"steep, nearly all right", steep, 1, 0.98, 1.2, false},
		{"card, most right, blind", card, 1, 0.9, 5, true},
		{"card, 8 streams, blind", card, 8, 0.8, 2, true},
		{"dear, all right, blind", dear, 1, 0.99, 0.97, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Policy{Limits: Limits{Rows: 64, Guesses: 63}}
			// What a prompt of the same machine tells beforehand.
			if !c.blind {
				p.Read(500, 512, int64(c.m(1, 512)/trust))
			}
			with, without := world(p, c.m, c.streams, c.right, 1000)
			if with < c.least*without {
				t.Errorf("%.2f of the speed without guesses, want at least %.2f", with/without, c.least)
			}
			t.Logf("%.2f", with/without)
		})
	}
}

func TestChoicesKeepToTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Policy{Limits: Limits{
			Rows: rapid.IntRange(1, 80).Draw(t, "rows"), Guesses: rapid.IntRange(0, 70).Draw(t, "guesses"),
			Depth: rapid.IntRange(0, 3).Draw(t, "depth"),
		}}
		for range 50 {
			offers := make([]Offer, rapid.IntRange(1, 12).Draw(t, "streams"))
			for i := range offers {
				offers[i] = Offer{Tokens: make([]Token, rapid.IntRange(0, 63).Draw(t, "offered")), Rate: rapid.Float64Range(0, 1).Draw(t, "rate")}
			}
			context := rapid.IntRange(0, 100000).Draw(t, "context")
			depths := p.Choose(Step{Context: context, Offers: offers, Reading: rapid.Bool().Draw(t, "reading")})
			if len(depths) != len(offers) {
				t.Fatalf("%d depths for %d offers", len(depths), len(offers))
			}
			guesses := 0
			for i, d := range depths {
				if d < 0 || d > len(offers[i].Tokens) {
					t.Fatalf("%d of %d guesses taken", d, len(offers[i].Tokens))
				}
				guesses += d
			}
			if guesses > p.Limits.Guesses || guesses > 0 && len(offers)+guesses > p.Limits.Rows {
				t.Fatalf("%d guesses beside %d streams, limits %+v", guesses, len(offers), p.Limits)
			}
			p.Observe(len(offers), context, len(offers)+guesses, rapid.Int64Range(0, 1e9).Draw(t, "took"))
		}
	})
}

func TestOthersDoNotWaitLong(t *testing.T) {
	p := &Policy{Limits: Limits{Rows: 64, Guesses: 63}}
	cost := func(rows int) int64 { return int64(10e6 + 1e6*float64(rows)) }
	for _, rows := range []int{1, 2, 4, 8, 16, 32, 64} {
		p.Observe(1, 1000, rows, cost(rows))
	}
	offers := []Offer{{Tokens: make([]Token, 63), Rate: 0.999}}
	alone := p.Choose(Step{Context: 1000, Offers: offers})[0]
	reading := p.Choose(Step{Context: 1000, Offers: offers, Reading: true})[0]
	if alone != 63 || reading >= 30 || reading == 0 {
		t.Errorf("%d guesses alone, %d where a prompt waits", alone, reading)
	}
}

func TestStreamLearnsFromGuessesThatNobodyChecked(t *testing.T) {
	loop := func(n int) (out []Token) {
		for i := range n {
			out = append(out, Token(i%5))
		}
		return out
	}
	var rates Rates
	good := NewStream(NewIndex(loop(50)), &rates, nil)
	for i := 50; i < 150; i++ {
		good.Guess(8)
		good.Drew(Token(i % 5))
	}
	if o := good.Guess(8); o.Rate < 0.95 {
		t.Errorf("rate %.2f where every guess was right", o.Rate)
	}
	bad := NewStream(NewIndex(loop(50)), &rates, nil)
	for i := range 60 {
		bad.Guess(8)
		bad.Drew(Token(i % 5)) // never what the loop says
		bad.Drew(100 + Token(i))
		for _, x := range []Token{0, 1, 2, 3, 4} {
			bad.Drew(x)
		}
	}
	if o := bad.Guess(8); len(o.Tokens) > 0 && o.Rate > 0.6 {
		t.Errorf("rate %.2f where the guesses were wrong", o.Rate)
	}
}
