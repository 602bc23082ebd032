package journal

import (
	"context"
	"sync"
)

// maxTouched is up to how many streams are woken by name after appends of other
// processes; beyond it everybody looks.
const maxTouched = 1024

// watch rings the bell for what other processes append, until ctx ends.
func (j *Journal) watch(ctx context.Context) {
	defer close(j.watched)
	moved := make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() { j.backend.Watch(ctx, j.bell.waiting, func() { poke(moved) }) })
	defer wg.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-moved:
		case <-j.bell.gap:
		}
		if err := j.look(ctx); err != nil && ctx.Err() == nil {
			// The store will be asked again at the next move; a follower that reads
			// meanwhile gets the error itself.
			j.log.Warn("event log cannot look for appends of other processes", "error", err)
		}
	}
}

// look rings for all events that have not been rung for.
func (j *Journal) look(ctx context.Context) error {
	seen := j.bell.rungFor()
	head, err := j.backend.Head(ctx)
	if err != nil || head <= seen {
		return err
	}
	streams, err := j.backend.Touched(ctx, seen, head, maxTouched+1)
	if err != nil {
		return err
	}
	if len(streams) > maxTouched {
		j.bell.ringAll(head)
		return nil
	}
	j.bell.ring(seen+1, head, streams)
	return nil
}
