package desk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	log    event.Log
	logger *slog.Logger
	every  int // events, after which the sums are written

	mu     sync.Mutex
	next   *sheet
	closed bool
	wake   chan struct{} // capacity 1
	ended  chan struct{}

	folding sync.Mutex // of what follows
	sums    map[board.Use]int64
	at      event.Sequence // of the usage stream, that the sums are of
	behind  bool           // the stream may have more that was answered
	summed  event.Sequence // where the last sums were written
}

// A sheet is the next event.
type sheet struct {
	sums map[board.Use]int64
	done chan struct{} // closed when it is in the log, or cannot be
	err  error
}

func newSheet() *sheet { return &sheet{sums: make(map[board.Use]int64), done: make(chan struct{})} }

func openAccount(ctx context.Context, log event.Log, logger *slog.Logger, every int) (*account, error) {
	a := &account{log: log, logger: logger, every: every, sums: make(map[board.Use]int64), next: newSheet(), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	if err := a.fold(ctx); err != nil {
		return nil, err
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
		close(s.done)
		a.sum()
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
		seq, err := a.append(e)
		if err != nil {
			return fmt.Errorf("count what was done: %w", err)
		}
		a.count(seq, sorted[:n])
		sorted = sorted[n:]
	}
	return nil
}

// append appends an event, again if it is not known whether that was done. The
// sequence is 0 if only that it was done is known.
func (a *account) append(e event.Event) (event.Sequence, error) {
	e.ID = event.NewID()
	var err error
	for range tries {
		var seq event.Sequence
		seq, err = a.log.Append(context.Background(), board.UsageStream, event.Any, e)
		switch {
		case err == nil:
			return seq, nil
		case errors.Is(err, event.ErrDuplicate):
			return 0, nil
		case errors.Is(err, event.ErrInvalid), errors.Is(err, event.ErrFull), errors.Is(err, event.ErrClosed):
			return 0, err
		}
		time.Sleep(pause)
	}
	return 0, err
}

func toCounts(sums map[board.Use]int64) []board.Count {
	out := make([]board.Count, 0, len(sums))
	for u, n := range sums {
		out = append(out, board.Count{Use: u, N: n})
	}
	return out
}

// counts is what has been counted.
func (a *account) counts(ctx context.Context) ([]board.Count, error) {
	a.folding.Lock()
	defer a.folding.Unlock()
	if a.behind {
		if err := a.fold(ctx); err != nil {
			return nil, err
		}
	}
	return toCounts(a.sums), nil
}

// close is called when nobody adds any more.
func (a *account) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	close(a.wake)
	<-a.ended
}
