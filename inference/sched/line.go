package sched

import "math"

// chunk is what reading a piece of a prompt cost.
type chunk struct {
	tokens float64
	at     float64 // position of its middle
	took   float64 // ns
}

// line tells what chunks cost, fitted to the latest:
//
//	took = fixed + tokens x (each + deep x at)
//
// A call has a fixed cost, on a card that of reading all weights once, so that a
// small chunk costs more per token. Attention makes a token dearer the further on
// it stands.
type line struct {
	latest [samples]chunk
	n      int // added in all
	// In ns, per token, and per token and position. All 0 as long as nothing is
	// known.
	fixed, each, deep float64
	largest, hardest  float64 // of the latest: tokens, tokens x position
}

// alike are chunks whose sizes differ by less than this part; unlike ones that
// differ by more. From alike ones the cost of the position is learnt, from unlike
// ones that of a token.
const alike, unlike = 0.5, 0.2

// apart is how far two chunks must lie from each other to tell what the position
// costs, or where they stand far on, unlike of that.
const apart = 128

func (l *line) add(c chunk) {
	l.latest[l.n%samples] = c
	l.n++
	known := l.latest[:min(l.n, samples)]
	l.largest, l.hardest = 0, 0
	for _, c := range known {
		l.largest, l.hardest = max(l.largest, c.tokens), max(l.hardest, c.tokens*c.at)
	}
	l.fitDeep(known)
	l.fitEach(known)
	l.fitFixed(known)
}

// fitDeep: what a token costs more with each position, between careful of any
// two chunks of like size (Theil and Sen); what was known before where there are
// none. It leaves a token a cost of its own.
func (l *line) fitDeep(known []chunk) {
	var buf [samples * (samples - 1) / 2]float64
	slopes, most := buf[:0], math.Inf(1)
	for i, a := range known {
		if a.at > 0 {
			most = min(most, 0.9*a.took/a.tokens/a.at)
		}
		for _, b := range known[:i] {
			size := math.Abs(a.tokens-b.tokens) <= alike*min(a.tokens, b.tokens)
			if d := a.at - b.at; size && math.Abs(d) >= max(apart, unlike*max(a.at, b.at)) {
				slopes = append(slopes, (a.took/a.tokens-b.took/b.tokens)/d)
			}
		}
	}
	if len(slopes) > 0 {
		l.deep = quantile(slopes, careful)
	}
	l.deep = min(max(l.deep, 0), most)
}

// fitEach: the median of what a token more costs between any two chunks of unlike
// size, within what can be, all as if read at position 0.
func (l *line) fitEach(known []chunk) {
	var slopeBuf [samples * (samples - 1) / 2]float64
	var buf [samples]float64
	slopes, ratios := slopeBuf[:0], buf[:0]
	for i, a := range known {
		ratios = append(ratios, l.level(a)/a.tokens)
		for _, b := range known[:i] {
			if d := a.tokens - b.tokens; math.Abs(d) >= unlike*max(a.tokens, b.tokens) {
				slopes = append(slopes, (l.level(a)-l.level(b))/d)
			}
		}
	}
	mean := quantile(ratios, careful)
	switch {
	case len(slopes) > 0:
		l.each = quantile(slopes, 0.5)
	case l.each == 0:
		l.each = mean // all of one size: the fixed part cannot be told from the rest
	}
	l.each = min(max(l.each, mean/20), mean)
}

// fitFixed: such that careful of the chunks cost no more than the line says.
func (l *line) fitFixed(known []chunk) {
	var buf [samples]float64
	heights := buf[:0]
	for _, c := range known {
		heights = append(heights, l.level(c)-l.each*c.tokens)
	}
	l.fixed = max(quantile(heights, careful), 0)
}

// level is what a chunk would have cost at position 0.
func (l *line) level(c chunk) float64 { return c.took - l.deep*c.at*c.tokens }

// took is what the line says of a chunk.
func (l *line) took(tokens, from float64) float64 {
	return l.fixed + tokens*(l.each+l.deep*(from+tokens/2))
}

// most is how many tokens from a position on can be read in a time, 0 where nothing
// is known. It is at most growth times the largest of the latest, and as many times
// the attention of one: further out the line is a guess.
func (l *line) most(time, from float64) float64 {
	rest := time - l.fixed
	if l.n == 0 || rest <= 0 {
		return 0
	}
	n := middle(rest, l.each+l.deep*from, l.deep)
	return min(n, growth*l.largest, middle(growth*l.hardest, from, 1))
}

// middle is the n of n x (b + a x n/2) = c, for a and b not negative, one of them
// more than 0.
func middle(c, b, a float64) float64 { return 2 * c / (b + math.Sqrt(b*b+2*a*c)) }
