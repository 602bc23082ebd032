package sample

import (
	"math"

	"dure/inference"
)

const (
	defaultBase          = 1.75
	defaultAllowedLength = 2
)

var defaultBreakers = []string{"\n", ":", "\"", "*"}

// dry finds the tokens that would extend a repetition. The cost of a token is
// one pass over the window (see suffixes), and a bounded look for breakers when
// the token is accepted.
type dry struct {
	multiplier, base float64
	allowed          int // tokens that may repeat
	maxExponent      int
	window           int
	breakers         *breakers

	// The newest breaker: where its first token is, counted from the first
	// token of all, and how many tokens it has behind the first.
	head, tail int

	lengths []int32 // scratch of suffixes
	marked  []int32 // tokens with a repeat in changes
}

func newDRY(p inference.DRY, v Vocabulary) (*dry, error) {
	d := &dry{multiplier: float64(p.Multiplier), base: defaultBase, allowed: defaultAllowedLength, window: MaxHistory, head: -1}
	if p.Base != 0 {
		d.base = float64(p.Base)
	}
	if p.AllowedLength != 0 {
		d.allowed = p.AllowedLength
	}
	if p.LastN > 0 {
		d.window = p.LastN
	}
	d.maxExponent = math.MaxInt32
	if d.base > 1 {
		d.maxExponent = int(min(math.Log(math.MaxFloat32)/math.Log(d.base), math.MaxInt32))
	}
	texts := p.Breakers
	if texts == nil {
		texts = defaultBreakers
	}
	var err error
	d.breakers, err = findBreakers(texts, v)
	return d, err
}

// penalty of a token that would extend a repetition of so many tokens. It is
// finite: a penalised token can still be drawn where there is no other.
func (d *dry) penalty(repeat int32) float32 {
	exponent := min(int(repeat)-d.allowed, d.maxExponent)
	return float32(min(d.multiplier*math.Pow(d.base, float64(exponent)), math.MaxFloat32))
}

// accept looks whether the newest token completes a breaker, and makes room for
// the next mark.
func (d *dry) accept(h *history) {
	if n := min(len(h.tokens), d.window); n > len(d.lengths) {
		d.lengths = make([]int32, min(d.window, 2*n+slack))
	}
	at := len(h.tokens) - 1
	for tail := 0; tail <= min(d.breakers.longest, at); tail++ {
		head := at - tail
		if h.before+head < d.head {
			return // the newest one known begins later
		}
		if d.breakers.match(h.tokens[head:]) {
			d.head, d.tail = h.before+head, tail
			return
		}
	}
}

// mark sets the repeat of each token that would extend a repetition longer than
// allowed, and takes back what it set the last time.
func (d *dry) mark(h *history, t *changes) {
	for _, token := range d.marked {
		t.at(token).repeat = 0
		t.tidy(token)
	}
	d.marked = d.marked[:0]
	tokens := h.last(d.window)
	if len(tokens) <= d.allowed {
		return
	}
	limit := len(tokens) // no repetition reaches back across a breaker
	if d.head >= h.end()-len(tokens) {
		limit = h.end() - 1 - d.head - d.tail
	}
	if limit < d.allowed {
		return
	}
	lengths := d.lengths[:len(tokens)]
	suffixes(tokens, lengths)
	for i, length := range lengths[:len(tokens)-1] {
		if int(length) < d.allowed || d.breakers.single.has(tokens[i+1]) {
			continue
		}
		c := t.at(tokens[i+1])
		if c.repeat == 0 {
			d.marked = append(d.marked, tokens[i+1])
		}
		c.repeat = max(c.repeat, min(length, int32(limit)))
	}
}

// suffixes sets lengths[i], for every i but the last, to how many tokens up to
// and with tokens[i] are the same as the last ones of tokens.
//
// It is the Z algorithm from the end: linear, since no comparison that held is
// made twice. Nearly all tokens differ from the last one, so that the pass runs
// at about the speed of reading them.
func suffixes(tokens, lengths []int32) {
	last := len(tokens) - 1
	clear(lengths)
	// tokens[from+1:to+1] is the farthest stretch known to equal an end.
	from, to := last, last
	for i := last - 1; i >= 0; i-- {
		n := 0
		if i > from {
			// The stretch has a copy at the end, which was measured before.
			n = int(lengths[last-(to-i)])
			if n < i-from {
				lengths[i] = int32(n)
				continue
			}
			n = i - from
		} else if tokens[i] != tokens[last] {
			continue
		}
		for n <= i && tokens[i-n] == tokens[last-n] {
			n++
		}
		lengths[i] = int32(n)
		from, to = i-n, i
	}
}
