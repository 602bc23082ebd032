package vcs

import (
	"context"
	"runtime"
)

// Turns bound how many do something that takes a core. Hundreds who hash and deflate
// at once would not be done sooner, and the writer, whose flush all of them wait
// for, would stand in the scheduler's queue behind them.
type turns chan struct{}

func newTurns(n int) turns { return make(turns, n) }

// enter waits for a turn; who came first is first.
func (t turns) enter(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		// Handed on from hand to hand, turns would keep the scheduler's local queues
		// busy, and the writer, back from its flush, would wait in the global one for
		// many of them.
		runtime.Gosched()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turns) leave() { <-t }
