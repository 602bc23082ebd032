package desk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dure/runtime/board"
	"dure/runtime/event"
)

// book is a log in memory whose appends fail as they are told to.
type book struct {
	event.Log
	mu     sync.Mutex
	events []event.Event
	fail   []error       // of the next appends; errDone: it is done all the same
	gate   chan struct{} // closed, or one for each append
}

var (
	errLost = errors.New("lost")
	errDone = errors.New("done, and not said")
)

func (b *book) Append(_ context.Context, _ string, _ event.Sequence, events ...event.Event) (event.Sequence, error) {
	<-b.gate
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if len(b.fail) > 0 {
		err, b.fail = b.fail[0], b.fail[1:]
	}
	for _, e := range b.events {
		if e.ID == events[0].ID {
			return 0, &event.DuplicateError{ID: e.ID}
		}
	}
	if err == nil || errors.Is(err, errDone) {
		b.events = append(b.events, events...)
	}
	return event.Sequence(len(b.events)), err
}

func (b *book) Read(context.Context, string, event.Sequence) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range b.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func uses(table string) []board.Use {
	return []board.Use{{Agent: "ann", Table: table, Kind: board.Read}}
}

// What comes while an append is on its way goes into the next one, all of it.
func TestAccountGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{gate: make(chan struct{})}
		a, err := openAccount(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = a.add(uses("first")) })
		synctest.Wait()
		for i := range 100 {
			wg.Go(func() {
				if err := a.add(uses(fmt.Sprint("t", i%3))); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if len(a.counts()) > 0 {
			t.Error("counted before it is in the log")
		}
		close(b.gate)
		wg.Wait()
		a.close()
		if len(b.events) != 2 {
			t.Errorf("%d events", len(b.events))
		}
		want := fmt.Sprint(board.Sum(a.counts()))
		again, err := openAccount(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(board.Sum(again.counts())); got != want {
			t.Errorf("from the log %s, was %s", got, want)
		}
		again.close()
		if err := a.add(uses("late")); !errors.Is(err, board.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// An append whose outcome is unknown is counted once.
func TestAccountRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{gate: make(chan struct{}), fail: []error{errLost, errDone, nil, event.ErrFull, errLost, errLost, errLost, errLost, errLost}}
		close(b.gate)
		a, err := openAccount(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.add(uses("t")); err != nil {
			t.Error(err)
		}
		if err := a.add(uses("t")); !errors.Is(err, event.ErrFull) {
			t.Errorf("got %v", err)
		}
		if err := a.add(uses("t")); !errors.Is(err, errLost) {
			t.Errorf("got %v", err)
		}
		a.close()
		if got := fmt.Sprint(a.counts()); got != "[{{ann t read} 1}]" || len(b.events) != 1 {
			t.Errorf("%s, %d events", got, len(b.events))
		}
	})
}

// Calls come back evenly; those under way are bounded.
func TestMember(t *testing.T) {
	l := board.DefaultLimits()
	l.PerMinute, l.AtOnce = 60, 2
	m := newMember(l)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	leave, err := m.begin(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.begin(at); err != nil {
		t.Fatal(err)
	}
	if _, err := m.begin(at); !errors.Is(err, board.ErrBusy) {
		t.Errorf("got %v", err)
	}
	leave()
	for range 58 {
		leave, err := m.begin(at)
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
	if _, err := m.begin(at.Add(-time.Hour)); !errors.Is(err, board.ErrQuota) {
		t.Errorf("a clock that goes back gives credit: %v", err)
	}
	at = at.Add(-time.Hour).Add(2 * time.Second)
	for i := range 3 {
		leave, err := m.begin(at)
		if (err == nil) != (i < 2) {
			t.Errorf("call %d after 2 s: %v", i+1, err)
		}
		if err == nil {
			leave()
		}
	}
}
