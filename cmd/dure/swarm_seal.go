package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"dure/runtime/replay"
)

// seal keeps beside the run's events what they were folded into, so that a replay can tell
// whether it sees the same. What is returned ends that, and is called once.
func (t *swarmTeam) seal(ctx context.Context) (finish func() error, err error) {
	s, err := replay.NewSealer(ctx, t.log)
	if errors.Is(err, replay.ErrDiffers) {
		err = fmt.Errorf("%w\nThe run does not go on with a state that it did not have: use the dure that ran it, or begin anew with --fresh. dure swarm replay shows where they part", err)
	}
	if err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(ctx)
	var sealing sync.WaitGroup
	var failed error
	sealing.Go(func() { failed = s.Run(following) })
	return func() error {
		stop()
		sealing.Wait()
		return errors.Join(failed, s.Finish(context.WithoutCancel(ctx)))
	}, nil
}
