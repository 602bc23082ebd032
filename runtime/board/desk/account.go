package desk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"dure/runtime/board"
	"dure/runtime/event"
)

const (
	// Most different uses in one event.
	maxUses = 5000
	// How often an append whose outcome is unknown is repeated, and after how long.
	tries = 5
	pause = 50 * time.Millisecond
)

// An account counts what no other event counts. Who adds to it waits until an event
// holds what it added; while one is on its way, the next is gathered.
type account struct {
	log event.Log

	mu     sync.Mutex
	sums   map[board.Use]int64 // in the log
	next   *sheet
	closed bool
	wake   chan struct{} // capacity 1
	ended  chan struct{}
}

// A sheet is the next event.
type sheet struct {
	sums map[board.Use]int64
	done chan struct{} // closed when it is in the log, or cannot be
	err  error
}

func newSheet() *sheet { return &sheet{sums: make(map[board.Use]int64), done: make(chan struct{})} }

func openAccount(ctx context.Context, log event.Log) (*account, error) {
	a := &account{log: log, sums: make(map[board.Use]int64), next: newSheet(), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	for e, err := range log.Read(ctx, board.UsageStream, 0) {
		if err != nil {
			return nil, err
		}
		used, err := board.UsedType.Decode(e)
		if err != nil {
			return nil, err
		}
		for _, c := range used.Counts {
			a.sums[c.Use] += c.N
		}
	}
	go a.keep()
	return a, nil
}

// add counts and waits until that is in the log.
func (a *account) add(uses []board.Use) error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return board.ErrClosed
	}
	s := a.next
	for _, u := range uses {
		s.sums[u]++
	}
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
	<-s.done
	return s.err
}

// keep appends sheets until the account is closed and the last is written.
func (a *account) keep() {
	defer close(a.ended)
	for range a.wake {
		a.mu.Lock()
		s := a.next
		if len(s.sums) == 0 {
			a.mu.Unlock()
			continue
		}
		a.next = newSheet()
		a.mu.Unlock()
		s.err = a.write(s)
		if s.err == nil {
			a.mu.Lock()
			for u, n := range s.sums {
				a.sums[u] += n
			}
			a.mu.Unlock()
		}
		close(s.done)
	}
}

func (a *account) write(s *sheet) error {
	sorted := board.Sum(toCounts(s.sums))
	for len(sorted) > 0 {
		n := min(len(sorted), maxUses)
		e, err := board.UsedType.New(board.Used{Counts: sorted[:n]})
		if err != nil {
			return err
		}
		if err := a.append(e); err != nil {
			return fmt.Errorf("count what was done: %w", err)
		}
		sorted = sorted[n:]
	}
	return nil
}

// append appends an event, again if it is not known whether that was done.
func (a *account) append(e event.Event) error {
	e.ID = event.NewID()
	var err error
	for range tries {
		_, err = a.log.Append(context.Background(), board.UsageStream, event.Any, e)
		switch {
		case err == nil, errors.Is(err, event.ErrDuplicate):
			return nil
		case errors.Is(err, event.ErrInvalid), errors.Is(err, event.ErrFull), errors.Is(err, event.ErrClosed):
			return err
		}
		time.Sleep(pause)
	}
	return err
}

func toCounts(sums map[board.Use]int64) []board.Count {
	out := make([]board.Count, 0, len(sums))
	for u, n := range sums {
		out = append(out, board.Count{Use: u, N: n})
	}
	return out
}

func (a *account) counts() []board.Count {
	a.mu.Lock()
	defer a.mu.Unlock()
	return toCounts(maps.Clone(a.sums))
}

// close is called when nobody adds any more.
func (a *account) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	close(a.wake)
	<-a.ended
}
