package spec

import (
	"cmp"
	"math"
	"slices"
)

// Limits of a Policy.
type Limits struct {
	// Rows that a step may have in all, and guesses among them.
	Rows, Guesses int
	// Depth, where it is not 0, is how many guesses each stream has checked, whatever
	// that costs.
	Depth int
}

const (
	// gain is how many times better than without guesses a step with them must
	// promise to be: estimates err, and what is lost is certain.
	gain = 1.1
	// patience is how many times longer a step with guesses may take than one without
	// where others wait for it, other streams or a prompt.
	patience = 2.5
	// plainEvery is after how many steps with guesses one without is made: what that
	// costs must be known, for all else is compared with it.
	plainEvery = 64
	// trust is how much less than a chunk of a prompt costs per row is believed of a
	// step of as many rows that was never made: that one has logits for every row.
	trust = 1.2
)

// Policy decides how many guesses are checked in a step. The zero value but for
// Limits is ready.
type Policy struct {
	Limits Limits
	costs  costs
	// drafting is what a draft model takes to make one more token for so many streams.
	drafting costs
	// sincePlain counts steps with guesses since the last one without.
	sincePlain int
	depths     []int
	order      []int
	making     []float64 // what a draft model takes by the number of streams
	right      []float64 // of the streams in order: how likely all their guesses are right
}

// Step describes a step to be decided about.
type Step struct {
	// Context is the mean length of the streams' contexts in tokens.
	Context int
	// Offers, one for each stream; an empty one has nothing to offer.
	Offers []Offer
	// Reading: a chunk of a prompt follows, so the step should not take long.
	Reading bool
}

// Choose returns how many guesses of each offer are to be checked; borrowed until
// the next call. As many streams as get some get the same number: where sequences
// have cells of their own, the engine computes each number of rows apart.
func (p *Policy) Choose(s Step) []int {
	p.depths = p.depths[:0]
	for range s.Offers {
		p.depths = append(p.depths, 0)
	}
	if p.Limits.Depth > 0 {
		return p.fixed(s.Offers)
	}
	streams := len(s.Offers)
	c := p.costs.of(place(streams, s.Context))
	plain := c.took(streams)
	if plain == 0 || p.sincePlain >= plainEvery {
		return p.depths
	}
	longest := math.Inf(1)
	if streams > 1 || s.Reading {
		longest = patience * plain
	}
	p.rank(s.Offers)
	p.price(s)
	with, depth := p.best(s.Offers, c, plain, longest)
	for _, i := range p.order[:with] {
		p.depths[i] = min(depth, s.Offers[i].length())
	}
	return p.depths
}

// rank orders the streams that offer something, the likeliest to be right first.
func (p *Policy) rank(offers []Offer) {
	p.order = p.order[:0]
	for i, o := range offers {
		if o.length() > 0 {
			p.order = append(p.order, i)
		}
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(offers[b].Rate, offers[a].Rate) })
}

// price looks up what a draft model takes for a token of each number of streams. It
// is taken to take nothing where that was never seen: try and see.
func (p *Policy) price(s Step) {
	p.making = append(p.making[:0], 0)
	for n := range s.Offers {
		p.making = append(p.making, p.drafting.of(place(n+1, s.Context)).took(n+1))
	}
}

// best finds how many of the streams in order get how many guesses each: what
// promises the most tokens for the time.
func (p *Policy) best(offers []Offer, c *curve, plain, longest float64) (with, depth int) {
	streams := len(offers)
	most := gain * float64(streams) / plain
	for n := 1; n <= len(p.order); n++ {
		expected, rows := float64(streams), streams
		p.right = p.right[:0]
		for range n {
			p.right = append(p.right, 1)
		}
		making := 0.0
		for d := 1; ; d++ {
			more, made := false, 0
			for k, i := range p.order[:n] {
				if o := offers[i]; d <= o.length() {
					p.right[k] *= o.Rate
					expected += p.right[k]
					rows++
					more = true
					if len(o.Tokens) == 0 {
						made++
					}
				}
			}
			making += p.making[made]
			if !more || rows > p.Limits.Rows || rows-streams > p.Limits.Guesses {
				break
			}
			if took := c.took(rows) + making; took <= longest && expected/took > most {
				with, depth, most = n, d, expected/took
			}
		}
	}
	return with, depth
}

// fixed gives each stream the depth that was asked for, as far as the rows go.
func (p *Policy) fixed(offers []Offer) []int {
	left := min(p.Limits.Guesses, p.Limits.Rows-len(offers))
	for i, o := range offers {
		p.depths[i] = max(0, min(p.Limits.Depth, o.length(), left))
		left -= p.depths[i]
	}
	return p.depths
}

// Observe tells what a step took, in ns.
func (p *Policy) Observe(streams, context, rows int, took int64) {
	if took <= 0 {
		return
	}
	if p.sincePlain++; rows == streams {
		p.sincePlain = 0
	}
	p.costs.of(place(streams, context)).see(rows, float64(took))
}

// Plain is what a step without guesses takes for so many streams, in ns; 0 where it
// is not known.
func (p *Policy) Plain(streams, context int) float64 {
	return p.costs.of(place(streams, context)).took(streams)
}

// Made tells what a draft model took for one more token of each of some streams, in
// ns.
func (p *Policy) Made(streams, context int, took int64) {
	if took > 0 {
		p.drafting.of(place(streams, context)).see(streams, float64(took))
	}
}

// Read tells what a chunk of a prompt took, in ns. Where a step of many rows was
// never made, it says what to expect.
func (p *Policy) Read(from, tokens int, took int64) {
	if took > 0 && tokens >= wide {
		p.costs.read(from+tokens/2, tokens, trust*float64(took))
	}
}
