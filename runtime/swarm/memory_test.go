package swarm

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"dure/runtime/event"
)

var errCrash = errors.New("the process died")

// memory is a log of one stream, in memory. Once it holds most events it takes no more:
// what is beyond is lost, as when the process dies.
type memory struct {
	event.Log // what a run does not use
	mu        sync.Mutex
	events    []event.Event
	most      int // 0: any number
}

func (m *memory) Append(_ context.Context, stream string, expected event.Sequence, events ...event.Event) (event.Sequence, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := event.CheckAppend(stream, expected, events); err != nil {
		return 0, err
	}
	if last := event.Sequence(len(m.events)); expected != last {
		return 0, &event.ConflictError{Stream: stream, Expected: expected, Actual: last}
	}
	for _, e := range events {
		if m.most > 0 && len(m.events) >= m.most {
			return 0, errCrash
		}
		e.Stream, e.Sequence = stream, event.Sequence(len(m.events)+1)
		m.events = append(m.events, e)
	}
	return event.Sequence(len(m.events)), nil
}

func (m *memory) Read(_ context.Context, _ string, _ event.Sequence) iter.Seq2[event.Event, error] {
	m.mu.Lock()
	events := slices.Clone(m.events)
	m.mu.Unlock()
	return func(yield func(event.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *memory) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.events)
}
