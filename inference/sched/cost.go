package sched

import (
	"math"
	"math/bits"
	"slices"
)

// The size of a chunk beside running streams follows from what steps and chunks
// cost lately:
//
//	cost of the chunk (line.go) <= margin x gap - step
//
// where gap is the target, longer where nobody watches the streams. Steps are kept
// by number of rows, in powers of two.
const (
	samples = 16
	// margin keeps part of the gap back, for what estimates cannot foresee.
	margin = 0.9
	// careful is the part of the samples that cost less than the estimate used: so
	// few outliers change nothing, and a change of a quarter is believed.
	careful = 0.75
	// growth bounds a chunk to so many times the largest of the latest.
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

type costs struct {
	steps [bits.UintSize + 1]steps // by bits.Len(rows)
	// narrow chunks are smaller than Limits.Wide, wide ones are not.
	narrow, wide line
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

// chunkSize is how much of a prompt to read from a position on, beside so many
// decode rows.
func (s *Scheduler) chunkSize(rows, from int) int {
	least, most := s.limits.MinChunk, s.limits.Chunk
	time := math.Inf(1)
	if s.slice > 0 {
		time = float64(s.slice)
	}
	if rows > 0 {
		step := s.cost.step(rows)
		if step.n == 0 {
			return least // nothing is known yet
		}
		time = min(time, s.chunkTime(step))
	}
	if math.IsInf(time, 1) {
		return most
	}
	n := s.cost.size(s.limits.Wide, time, float64(from))
	return max(least, min(n, most))
}

// size of a chunk that is read in a time: as much as wide ones hold, else as much as
// narrow ones do. What is known of wide ones may be so little that no step further
// is safe: the smallest is read nevertheless, or nothing would ever be learnt.
func (c *costs) size(wide int, time, from float64) int {
	if c.wide.n > 0 && c.wide.took(float64(wide), from) <= time {
		return max(wide, int(c.wide.most(time, from)))
	}
	n := int(c.narrow.most(time, from))
	if n >= wide && c.wide.n > 0 {
		return wide
	}
	return n
}

// Slice says how long a chunk should take at most because other processes wait for
// the device; 0 = as long as it may.
func (s *Scheduler) Slice(most Tick) { s.slice = most }

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

// Decoded tells that the decode of so many rows succeeded, and what it took, 0 where
// that is no measure of such steps: the
// rows that the last Next named are charged to their agents.
func (s *Scheduler) Decoded(rows int, took Tick) {
	if rows < 1 {
		return
	}
	for _, r := range s.decoding {
		r.charge(1)
		r.generated++
	}
	s.decoding = s.decoding[:0]
	if took > 0 {
		s.cost.steps[bits.Len(uint(rows))].add(float64(took))
	}
}

// read remembers what a chunk cost.
func (c *costs) read(l Limits, from, tokens int, took Tick) {
	if took <= 0 {
		return
	}
	to := &c.wide
	if tokens < l.Wide {
		to = &c.narrow
	}
	to.add(chunk{tokens: float64(tokens), at: float64(from) + float64(tokens)/2, took: float64(took)})
}
