package desk

import (
	"context"
	"sync"
	"time"

	"dure/runtime/board"
)

// A bell knows the number of the last change of each table, and wakes those who
// wait for one of them, and nobody else.
type bell struct {
	mu      sync.Mutex
	last    map[string]uint64
	waiters map[*waiter]bool
}

type waiter struct {
	tables map[string]bool // nil: all
	wake   chan struct{}   // capacity 1
}

func newBell(last map[string]uint64) *bell {
	return &bell{last: last, waiters: make(map[*waiter]bool)}
}

func (b *bell) ring(number uint64, tables []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range tables {
		b.last[t] = max(b.last[t], number)
	}
	for w := range b.waiters {
		if w.concerned(tables) {
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}
	}
}

func (w *waiter) concerned(tables []string) bool {
	if w.tables == nil {
		return true
	}
	for _, t := range tables {
		if w.tables[t] {
			return true
		}
	}
	return false
}

// number is the last change that concerns a waiter.
func (b *bell) number(w *waiter) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	var n uint64
	for t, last := range b.last {
		if w.tables == nil || w.tables[t] {
			n = max(n, last)
		}
	}
	return n
}

func (b *bell) wait(ctx context.Context, closing <-chan struct{}, after uint64, limit time.Duration, tables []string) (uint64, error) {
	w := &waiter{wake: make(chan struct{}, 1)}
	if err := b.join(w, tables); err != nil {
		return 0, err
	}
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiters, w)
	}()
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		n := b.number(w)
		if n > after {
			return n, nil
		}
		select {
		case <-w.wake:
		case <-over.C:
			return n, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-closing:
			return 0, board.ErrClosed
		}
	}
}

func (b *bell) join(w *waiter, tables []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range tables {
		if _, ok := b.last[t]; !ok {
			return board.Refuse(board.ErrStatement, nil, "there is no table %s to wait for", t)
		}
		if w.tables == nil {
			w.tables = make(map[string]bool)
		}
		w.tables[t] = true
	}
	b.waiters[w] = true
	return nil
}
