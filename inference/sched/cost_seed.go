package sched

import (
	"errors"
	"fmt"
	"math/bits"
)

// Costs are what steps and chunks of this model took before this Scheduler was made.
type Costs struct {
	Steps  []StepCost  `json:"steps,omitempty"`
	Chunks []ChunkCost `json:"chunks,omitempty"`
}

// StepCost is what a decode step of so many rows took.
type StepCost struct {
	Rows int  `json:"rows"`
	Took Tick `json:"took_ns"`
}

// ChunkCost is what it took to read so many tokens of a prompt from a position on.
type ChunkCost struct {
	From   int  `json:"from"`
	Tokens int  `json:"tokens"`
	Took   Tick `json:"took_ns"`
}

// seeds is how many costs of each kind count at most: half of what is kept, so that
// a few new ones already have a say.
const seeds = samples / 2

// Seed tells costs from before, which count as if they had just been seen: the first
// chunk beside running streams is then as large as later ones. They go as all others
// do, with each new one that is seen; after samples of a kind none is left. Of more
// than seeds of a kind some are taken, evenly in their order. It is called before the
// first Next. Costs that cannot be are an error, and nothing is taken then.
func (s *Scheduler) Seed(c Costs) error {
	if s.cost.narrow.n > 0 || s.cost.wide.n > 0 {
		return errors.New("seed the scheduler: it has seen chunks already")
	}
	for _, x := range c.Steps {
		if x.Rows < 1 || x.Took < 1 {
			return fmt.Errorf("seed the scheduler: a step of %d rows that took %d ns", x.Rows, x.Took)
		}
	}
	var narrow, wide []ChunkCost
	for _, x := range c.Chunks {
		switch {
		case x.From < 0 || x.Tokens < 1 || x.Took < 1:
			return fmt.Errorf("seed the scheduler: a chunk of %d tokens from %d on that took %d ns", x.Tokens, x.From, x.Took)
		case x.Tokens < s.limits.Wide:
			narrow = append(narrow, x)
		default:
			wide = append(wide, x)
		}
	}
	for size, all := range stepsBySize(c.Steps) {
		for _, x := range evenly(all) {
			s.cost.steps[size].add(float64(x.Took))
		}
	}
	for _, x := range append(evenly(narrow), evenly(wide)...) {
		s.cost.read(s.limits, x.From, x.Tokens, x.Took)
	}
	return nil
}

// stepsBySize are kept apart as costs.steps are.
func stepsBySize(all []StepCost) map[int][]StepCost {
	by := map[int][]StepCost{}
	for _, x := range all {
		size := bits.Len(uint(x.Rows))
		by[size] = append(by[size], x)
	}
	return by
}

// evenly takes at most seeds of them.
func evenly[T any](all []T) []T {
	if len(all) <= seeds {
		return all
	}
	var some []T
	for i := range seeds {
		some = append(some, all[i*len(all)/seeds])
	}
	return some
}
