package journal

import (
	"context"
	"fmt"
	"iter"

	"dure/runtime/event"
)

// Read implements event.Log.
func (j *Journal) Read(ctx context.Context, stream string, from event.Sequence) iter.Seq2[event.Event, error] {
	return j.read(ctx, source{stream: stream}, uint64(from), false)
}

// Follow implements event.Log.
func (j *Journal) Follow(ctx context.Context, stream string, from event.Sequence) iter.Seq2[event.Event, error] {
	return j.read(ctx, source{stream: stream}, uint64(from), true)
}

// ReadAll implements event.Log.
func (j *Journal) ReadAll(ctx context.Context, from event.Position) iter.Seq2[event.Event, error] {
	return j.read(ctx, source{all: true}, uint64(from), false)
}

// FollowAll implements event.Log.
func (j *Journal) FollowAll(ctx context.Context, from event.Position) iter.Seq2[event.Event, error] {
	return j.read(ctx, source{all: true}, uint64(from), true)
}

// A source is what a reader reads: a stream, or all of them.
type source struct {
	stream string
	all    bool
}

func (s source) String() string {
	if s.all {
		return "all events"
	}
	return fmt.Sprintf("stream %q", s.stream)
}

func (s source) number(e event.Event) uint64 {
	if s.all {
		return uint64(e.Position)
	}
	return uint64(e.Sequence)
}

func (s source) check() error {
	if s.all {
		return nil
	}
	return event.CheckStream(s.stream)
}

// read yields from a number to the end, and with follow goes on from there.
func (j *Journal) read(ctx context.Context, s source, from uint64, follow bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		fail := func(err error) { yield(event.Event{}, fmt.Errorf("read %v: %w", s, err)) }
		if err := s.check(); err != nil {
			yield(event.Event{}, err)
			return
		}
		next := max(from, 1)
		var w *waiter
		if follow {
			w = j.bell.wait(s.stream)
			defer j.bell.forget(w)
		}
		for {
			end, err := j.end(ctx, s)
			if err != nil {
				fail(err)
				return
			}
			more, err := j.span(ctx, s, next, end, yield)
			if err != nil {
				fail(err)
				return
			}
			if !more || !follow {
				return
			}
			next = max(next, end+1)
			if err := j.sleep(ctx, w); err != nil {
				fail(err)
				return
			}
		}
	}
}

// span yields the numbers next to end, page by page. It reports whether its
// consumer wants more.
func (j *Journal) span(ctx context.Context, s source, next, end uint64, yield func(event.Event, error) bool) (bool, error) {
	for next <= end {
		page, err := j.page(ctx, Query{Stream: s.stream, From: next, To: end})
		if err != nil {
			return false, err
		}
		if len(page) == 0 {
			return false, fmt.Errorf("%w: number %d is missing, the end is %d", event.ErrDamaged, next, end)
		}
		for _, e := range page {
			if got := s.number(e); got != next {
				return false, fmt.Errorf("%w: number %d is missing, %d follows", event.ErrDamaged, next, got)
			}
			next++
			if !yield(e, nil) {
				return false, nil
			}
		}
	}
	return true, nil
}

// sleep waits for the bell.
func (j *Journal) sleep(ctx context.Context, w *waiter) error {
	select {
	case <-w.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-j.closing:
		return event.ErrClosed
	}
}

func (j *Journal) page(ctx context.Context, q Query) ([]event.Event, error) {
	if !j.enter() {
		return nil, event.ErrClosed
	}
	defer j.leave()
	return j.backend.Page(ctx, q)
}

// end is the last number of a source.
func (j *Journal) end(ctx context.Context, s source) (uint64, error) {
	if s.all {
		head, err := j.head(ctx)
		return uint64(head), err
	}
	if !j.enter() {
		return 0, event.ErrClosed
	}
	defer j.leave()
	last, err := j.backend.Last(ctx, s.stream)
	return uint64(last), err
}

func (j *Journal) head(ctx context.Context) (event.Position, error) {
	if !j.enter() {
		return 0, event.ErrClosed
	}
	defer j.leave()
	return j.backend.Head(ctx)
}

// Head implements event.Log.
func (j *Journal) Head(ctx context.Context) (event.Position, error) {
	head, err := j.head(ctx)
	if err != nil {
		return 0, fmt.Errorf("event log: head: %w", err)
	}
	return head, nil
}

// Last implements event.Log.
func (j *Journal) Last(ctx context.Context, stream string) (event.Sequence, error) {
	s := source{stream: stream}
	if err := s.check(); err != nil {
		return 0, err
	}
	last, err := j.end(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("event log: end of %v: %w", s, err)
	}
	return event.Sequence(last), nil
}

// Wait implements event.Log.
func (j *Journal) Wait(ctx context.Context, after event.Position) (event.Position, error) {
	w := j.bell.wait(everything)
	defer j.bell.forget(w)
	for {
		head, err := j.head(ctx)
		if err == nil && head <= after {
			if err = j.sleep(ctx, w); err == nil {
				continue
			}
		}
		if err != nil {
			return 0, fmt.Errorf("event log: wait beyond %d: %w", after, err)
		}
		return head, nil
	}
}
