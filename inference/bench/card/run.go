package card

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrSkip is wrapped by the error of an item that cannot be measured here, which shows
// only when it is tried.
var ErrSkip = errors.New("it cannot be measured here")

// Item is a part of the measurement. Items are handed in by value, the most
// important first.
type Item struct {
	Name, Title string
	// Weight is its part of the time, beside the weights of the others; 0 for what
	// takes none.
	Weight float64
	// Skip says why it cannot be measured here; empty if it can.
	Skip string
	// Measure keeps its figures in the journal as they come. It ends soon after its
	// context does, with an error.
	Measure func(ctx context.Context, j *Journal) error
}

// Run measures one item after another within a time. What an item does not use is
// for those after it. A failed item does not keep the rest from running. The error is
// the context's, or the journal's.
func Run(ctx context.Context, j *Journal, items []Item, total time.Duration, say func(string)) error {
	begin := time.Now()
	for i, it := range items {
		earlier := j.states[it.Name].State
		place := fmt.Sprintf("%d of %d: %s", i+1, len(items), it.Title)
		if earlier == Done {
			say(place + ": measured before")
			continue
		}
		s := State{Item: it.Name, State: Skipped, Why: it.Skip}
		begun := false
		if it.Skip == "" {
			left := total - time.Since(begin)
			slice := share(left, weights(items[i:], j))
			var err error
			if s, err = measure(ctx, j, it, slice, func() {
				begun = true
				say(fmt.Sprintf("%s, %v at most; %v left in all", place, slice.Round(time.Second), left.Round(time.Second)))
			}); err != nil {
				return err
			}
		}
		if earlier == Part && (s.State == Left || s.State == Skipped) {
			s.State = Part // of an earlier run
		}
		switch {
		case !begun:
			say(fmt.Sprintf("%s: %s: %s", place, s.State, s.Why))
		case s.State != Done:
			say(fmt.Sprintf("  %s: %s", s.State, s.Why))
		}
		if err := j.append(entry{State: &s}); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// leastSlice is too short to measure anything.
const leastSlice = time.Second

// measure is one item; the error is the journal's.
func measure(ctx context.Context, j *Journal, it Item, slice time.Duration, begun func()) (State, error) {
	if it.Weight > 0 && slice < leastSlice {
		return State{Item: it.Name, State: Left, Why: "there was no time left; --resume measures it"}, nil
	}
	begun()
	if err := j.begin(it.Name); err != nil {
		return State{}, err
	}
	inner, cancel := context.WithTimeout(ctx, max(slice, leastSlice))
	defer cancel()
	before := len(j.points)
	err := it.Measure(inner, j)
	s := State{Item: it.Name, State: Part}
	switch {
	case err == nil:
		s.State = Done
	case errors.Is(err, ErrSkip):
		s.State, s.Why = Skipped, err.Error()
	case ctx.Err() != nil:
		s.Why = "interrupted; --resume goes on"
	case errors.Is(inner.Err(), context.DeadlineExceeded):
		s.Why = fmt.Sprintf("its time of %v was over; --resume measures the rest", slice.Round(time.Second))
	default:
		s.State, s.Why = Failed, err.Error()
	}
	if s.State == Part && len(j.points) == before {
		s.State = Left
	}
	return s, nil
}

// weights of the items that are still to be measured, the first of them first.
func weights(items []Item, j *Journal) (all []float64) {
	for i, it := range items {
		if i == 0 || it.Skip == "" && j.states[it.Name].State != Done {
			all = append(all, it.Weight)
		}
	}
	return all
}

// patience is the part of the time left that what is next may take in any case: on a
// slow machine it is better to know the most important well than nothing of all.
const patience = 0.25

// share is the first one's part of what is left.
func share(left time.Duration, weights []float64) time.Duration {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	if left <= 0 || weights[0] <= 0 {
		return 0
	}
	return min(left, time.Duration(float64(left)*max(weights[0]/sum, patience)))
}
