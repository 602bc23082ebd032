package event

import (
	"context"
	"fmt"
)

// Largest number of events and of payload bytes (beyond the first event) that are
// handed to a State at once.
const (
	batchEvents = 512
	batchBytes  = 1 << 20
)

// A State is made of a log's events and of nothing else: no clock, no chance, no
// order but theirs. A state that was built from the first event on and one that
// was kept up to date, with any interruptions, are then the same.
type State interface {
	// Applied is the position of the last event that is in the state, 0 if none is.
	Applied(ctx context.Context) (Position, error)
	// Apply takes the next events, in order and without a hole, and remembers the
	// last one's position: all of it or nothing, also when the process dies midway.
	// Types that the state does not know are passed over, but counted as applied.
	Apply(ctx context.Context, events []Event) error
	// Reset makes the state what it is before the first event.
	Reset(ctx context.Context) error
}

// CatchUp applies what the log has and the state lacks, in batches, and returns the
// position that the state is at. A state that is ahead of the log belongs to
// another log, or the log has lost events: ErrDamaged.
func CatchUp(ctx context.Context, log Log, state State) (Position, error) {
	at, err := state.Applied(ctx)
	if err != nil {
		return 0, fmt.Errorf("project: applied: %w", err)
	}
	head, err := log.Head(ctx)
	if err != nil {
		return at, fmt.Errorf("project: %w", err)
	}
	if at > head {
		return at, fmt.Errorf("project: %w: the state is at position %d, the log ends at %d", ErrDamaged, at, head)
	}
	var batch []Event
	bytes := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := state.Apply(ctx, batch); err != nil {
			return fmt.Errorf("project: apply positions %d to %d: %w", batch[0].Position, batch[len(batch)-1].Position, err)
		}
		at = batch[len(batch)-1].Position
		batch, bytes = nil, 0 // the state may have kept them
		return nil
	}
	for e, err := range log.ReadAll(ctx, at+1) {
		if err != nil {
			return at, fmt.Errorf("project: %w", err)
		}
		batch, bytes = append(batch, e), bytes+len(e.Payload)
		if len(batch) >= batchEvents || bytes >= batchBytes {
			if err := flush(); err != nil {
				return at, err
			}
		}
	}
	return at, flush()
}

// Rebuild makes the state anew from the first event on.
func Rebuild(ctx context.Context, log Log, state State) (Position, error) {
	if err := state.Reset(ctx); err != nil {
		return 0, fmt.Errorf("project: reset: %w", err)
	}
	return CatchUp(ctx, log, state)
}

// Keep keeps the state up to date until ctx ends, the log is closed or something
// fails; it always returns an error that says which. The goroutine that calls it
// owns the state meanwhile.
func Keep(ctx context.Context, log Log, state State) error {
	for {
		at, err := CatchUp(ctx, log, state)
		if err != nil {
			return err
		}
		if _, err := log.Wait(ctx, at); err != nil {
			return fmt.Errorf("project: %w", err)
		}
	}
}
