package sched

import (
	"math/bits"
	"slices"
)

// The size of a chunk beside running streams follows from what steps and chunks
// cost lately:
//
//	fixed + each x chunk <= margin x gap - step
//
// where gap is the target, longer where nobody watches the streams. Steps are kept by number of rows, in powers of two. Of
// chunks a line through the latest is kept: a call has a fixed cost, on a card
// that of reading all weights once, so that a small chunk costs more per token.
const (
	samples = 16
	// margin keeps part of the gap back, for what estimates cannot foresee.
	margin = 0.9
	// careful is the part of the samples that cost less than the estimate used: so
	// few outliers change nothing, and a change of a quarter is believed.
	careful = 0.75
	// growth bounds a chunk to so many times the largest of the latest: further out
	// the line is a guess.
	growth = 2
)

// quantile of values, which it sorts; 0 without any.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(q*float64(len(values)-1))]
}

// steps are the latest costs of a decode call in ns.
type steps struct {
	at [samples]float64
	n  int // added in all
}

func (w *steps) add(took float64) {
	w.at[w.n%samples] = took
	w.n++
}

func (w *steps) quantile(q float64) float64 {
	latest := w.at
	return quantile(latest[:min(w.n, samples)], q)
}

// chunks are the latest costs of reading a piece of a prompt.
type chunks struct {
	at [samples]struct{ tokens, took float64 }
	n  int // added in all
	// The line, in ns. Both are 0 as long as nothing is known.
	fixed, each float64
	largest     float64 // tokens
}

// add a chunk and fit the line: its slope is the median of those between any two
// chunks that differ enough (Theil and Sen), within what can be; its height is
// such that careful of the chunks lie below.
func (c *chunks) add(tokens int, took float64) {
	c.at[c.n%samples] = struct{ tokens, took float64 }{float64(tokens), took}
	c.n++
	latest := c.at[:min(c.n, samples)]
	var slopeBuf [samples * (samples - 1) / 2]float64
	var buf [samples]float64
	slopes, ratios := slopeBuf[:0], buf[:0]
	c.largest = 0
	for i, a := range latest {
		c.largest = max(c.largest, a.tokens)
		ratios = append(ratios, a.took/a.tokens)
		for _, b := range latest[:i] {
			if d := a.tokens - b.tokens; max(d, -d)*5 >= max(a.tokens, b.tokens) {
				slopes = append(slopes, (a.took-b.took)/d)
			}
		}
	}
	mean := quantile(ratios, careful)
	switch {
	case len(slopes) > 0:
		c.each = quantile(slopes, 0.5)
	case c.each == 0:
		c.each = mean // all of one size: the fixed part cannot be told from the rest
	}
	c.each = min(max(c.each, mean/20), mean)
	heights := buf[:0]
	for _, a := range latest {
		heights = append(heights, a.took-c.each*a.tokens)
	}
	c.fixed = max(quantile(heights, careful), 0)
}

type costs struct {
	steps  [bits.UintSize + 1]steps // by bits.Len(rows)
	chunks chunks
}

// step is what so many rows cost, or the nearest number of which something is
// known.
func (c *costs) step(rows int) *steps {
	at := bits.Len(uint(rows))
	for d := range len(c.steps) {
		for _, i := range []int{at - d, at + d} {
			if i >= 0 && i < len(c.steps) && c.steps[i].n > 0 {
				return &c.steps[i]
			}
		}
	}
	return &c.steps[at]
}

// chunkSize is how much of a prompt to read beside so many decode rows.
func (s *Scheduler) chunkSize(rows int) int {
	least, most := s.limits.MinChunk, s.limits.Chunk
	if rows == 0 {
		return most
	}
	step, c := s.cost.step(rows), &s.cost.chunks
	if step.n == 0 || c.each == 0 {
		return least // nothing is known yet
	}
	n := (s.chunkTime(step) - c.fixed) / c.each
	n = min(n, growth*max(c.largest, float64(least)), float64(most))
	return max(least, int(n))
}

// chunkTime is how long a chunk may take, in ns.
func (s *Scheduler) chunkTime(step *steps) float64 {
	gap := float64(s.limits.Gap)
	if gap == 0 {
		gap = s.limits.GapSteps * step.quantile(0.5)
	}
	if !s.watched() {
		gap *= unwatched
	}
	return margin*gap - step.quantile(careful)
}

// unwatched is how many times longer streams may stand still that nobody watches:
// their agents read an answer when it is whole.
const unwatched = 3

// watched reports whether one of the streams that run is a person's, or one that
// others wait for.
func (s *Scheduler) watched() bool {
	return slices.ContainsFunc(s.decoding, func(r *request) bool { return base(r) <= Planner })
}

// Observe tells what a call of the engine cost: the decode of so many rows, or a
// chunk of so many prompt tokens (the other is 0). Call it after each that
// succeeded: sizes of chunks follow from it, and the rows that the last Next named
// are charged to their agents.
func (s *Scheduler) Observe(rows, tokens int, took Tick) {
	if rows > 0 {
		for _, r := range s.decoding {
			r.charge(1)
			r.generated++
		}
		s.decoding = s.decoding[:0]
		if took > 0 {
			s.cost.steps[bits.Len(uint(rows))].add(float64(took))
		}
	}
	if tokens > 0 && took > 0 {
		s.cost.chunks.add(tokens, float64(took))
	}
}
