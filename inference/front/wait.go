package front

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"dure/inference"
)

// How long a later choice of a request waits before it asks again for a place in
// a full queue: as long as the model says, within these bounds. Places become
// free faster than a model on this machine says, since it tells the time for
// the whole queue; one that runs elsewhere is not asked more often than it wants.
const (
	leastWait      = 50 * time.Millisecond
	mostWait       = time.Second
	mostRemoteWait = time.Minute
)

// events are those of one choice. The choices that run at first ask for a place
// like any request, and a full queue refuses the request. Later ones wait until
// there is a place or ctx ends: failing then would throw away what the earlier
// ones said.
func (n *run) events(ctx context.Context, i int) iter.Seq2[inference.Event, error] {
	if i < n.width {
		return n.model.Generate(ctx, n.g.Requests[i])
	}
	return func(yield func(inference.Event, error) bool) {
		for {
			var full *inference.Error
			silent := true
			for ev, err := range n.model.Generate(ctx, n.g.Requests[i]) {
				if silent && errors.Is(err, inference.ErrQueueFull) && errors.As(err, &full) {
					break
				}
				silent = false
				if !yield(ev, err) {
					return
				}
			}
			if full == nil {
				return
			}
			if err := pause(ctx, n.retryAfter(full)); err != nil {
				yield(inference.Event{}, err)
				return
			}
		}
	}
}

// retryAfter is up to half as long again as it need be, so that those who wait
// do not all come at once.
func (n *run) retryAfter(full *inference.Error) time.Duration {
	most := mostWait
	if _, local := n.model.(inference.Tokenizer); !local {
		most = mostRemoteWait
	}
	wait := min(max(full.RetryAfter, leastWait), most)
	return wait + rand.N(wait/2)
}

// pause returns after the time, or early with ctx's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
