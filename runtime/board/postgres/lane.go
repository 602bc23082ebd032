package postgres

import (
	"context"
	"time"

	"dure/runtime/board"
)

// A lane is a few sessions of one kind, made when they are needed.
type lane struct {
	dial  func(ctx context.Context) (*session, error)
	queue time.Duration
	free  chan *session
	slots chan struct{} // sessions that are not made
}

func newLane(size int, queue time.Duration, dial func(ctx context.Context) (*session, error)) *lane {
	l := &lane{dial: dial, queue: queue, free: make(chan *session, size), slots: make(chan struct{}, size)}
	for range size {
		l.slots <- struct{}{}
	}
	return l
}

// take waits for a session as long as the queue may be.
func (l *lane) take(ctx context.Context) (*session, error) {
	if s, err := l.try(ctx); s != nil || err != nil {
		return s, err
	}
	full := time.NewTimer(l.queue)
	defer full.Stop()
	select {
	case s := <-l.free:
		return s, nil
	case <-l.slots:
		return l.make(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-full.C:
		return nil, board.Refuse(board.ErrBusy, nil, "the statement waited %v and was not begun", l.queue)
	}
}

// try takes a session if it need not be waited for, or returns nil.
func (l *lane) try(ctx context.Context) (*session, error) {
	select {
	case s := <-l.free:
		return s, nil
	default:
	}
	select {
	case <-l.slots:
		return l.make(ctx)
	default:
		return nil, nil
	}
}

func (l *lane) make(ctx context.Context) (*session, error) {
	s, err := l.dial(ctx)
	if err != nil {
		l.slots <- struct{}{}
		return nil, explain(err)
	}
	return s, nil
}

// put gives a session back, in order.
func (l *lane) put(s *session) {
	s.sink = nil
	if !s.clean && !s.conn.IsClosed() {
		s.reset()
	}
	if s.conn.IsClosed() {
		l.slots <- struct{}{}
		return
	}
	l.free <- s
}

// close ends the sessions; none is taken.
func (l *lane) close() {
	for {
		select {
		case s := <-l.free:
			s.close()
		default:
			return
		}
	}
}
