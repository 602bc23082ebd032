package desk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dure/runtime/board"
	"dure/runtime/event"
)

// book is a log in memory whose appends to the usage stream fail as they are told to.
type book struct {
	event.Log
	mu   sync.Mutex
	all  map[string][]event.Event
	fail []error       // of the next appends; errDone: it is done all the same
	gate chan struct{} // closed, or one for each append
	tell func()        // called after each append
}

var (
	errLost = errors.New("lost")
	errDone = errors.New("done, and not said")
)

func newBook(fail ...error) *book {
	return &book{all: make(map[string][]event.Event), fail: fail, gate: make(chan struct{}), tell: func() {}}
}

func (b *book) Append(_ context.Context, stream string, _ event.Sequence, events ...event.Event) (event.Sequence, error) {
	<-b.gate
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if len(b.fail) > 0 && stream == board.UsageStream {
		err, b.fail = b.fail[0], b.fail[1:]
	}
	for _, e := range b.all[stream] {
		if e.ID == events[0].ID && e.ID != (event.ID{}) {
			return 0, &event.DuplicateError{ID: e.ID}
		}
	}
	if err == nil || errors.Is(err, errDone) {
		for _, e := range events {
			e.Sequence = event.Sequence(len(b.all[stream]) + 1)
			b.all[stream] = append(b.all[stream], e)
		}
		b.tell()
	}
	return event.Sequence(len(b.all[stream])), err
}

func (b *book) Read(_ context.Context, stream string, from event.Sequence) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		b.mu.Lock()
		all := slices.Clone(b.all[stream])
		b.mu.Unlock()
		for _, e := range all[max(from, 1)-1:] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (b *book) Last(_ context.Context, stream string) (event.Sequence, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return event.Sequence(len(b.all[stream])), nil
}

// copied is the log as a process finds it that was started now.
func (b *book) copied() *book {
	c := newBook()
	close(c.gate)
	for stream, events := range b.all {
		c.all[stream] = slices.Clone(events)
	}
	return c
}

// folded is the sums of the whole usage stream.
func (b *book) folded(t testing.TB) string {
	t.Helper()
	var all []board.Count
	for _, e := range b.all[board.UsageStream] {
		used, err := board.UsedType.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, used.Counts...)
	}
	return fmt.Sprint(board.Sum(all))
}

func opened(t testing.TB, b event.Log, every int) *account {
	t.Helper()
	a, err := openAccount(context.Background(), b, slog.New(slog.DiscardHandler), every)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func countsOf(t testing.TB, a *account) string {
	t.Helper()
	all, err := a.counts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(board.Sum(all))
}

func uses(table string) []board.Use {
	return []board.Use{{Agent: "ann", Table: table, Kind: board.Read}}
}

// What comes while an append is on its way goes into the next one, all of it.
func TestAccountGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		a := opened(t, b, sumEvery)
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
		if countsOf(t, a) != "[]" {
			t.Error("counted before it is in the log")
		}
		close(b.gate)
		wg.Wait()
		a.close()
		if n := len(b.all[board.UsageStream]); n != 2 {
			t.Errorf("%d events", n)
		}
		want := countsOf(t, a)
		again := opened(t, b, sumEvery)
		if got := countsOf(t, again); got != want {
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
		b := newBook(errLost, errDone, nil, event.ErrFull, errLost, errLost, errLost, errLost, errLost)
		close(b.gate)
		a := opened(t, b, sumEvery)
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
		if got := countsOf(t, a); got != "[{{ann t read} 1}]" || len(b.all[board.UsageStream]) != 1 {
			t.Errorf("%s, %v", got, b.all)
		}
	})
}

// Whatever the account was doing when it was killed, whoever opens it then has the sums
// of the whole stream, though it reads a part of it.
func TestSumsAreTheFold(t *testing.T) {
	b := newBook(errLost, nil, nil, errDone, nil, errLost, errLost, errLost, errLost, errLost)
	close(b.gate)
	b.tell = func() { // killed after each append
		dead := b.copied()
		a := opened(t, dead, 5)
		if got, want := countsOf(t, a), dead.folded(t); got != want {
			t.Errorf("with %d events and %d sums: %s, the fold is %s", len(dead.all[board.UsageStream]), len(dead.all[board.SumStream]), got, want)
		}
		a.close()
	}
	a := opened(t, b, 5)
	other := opened(t, b, 7) // of another process
	for i := range 60 {
		who := a
		if i%7 == 3 {
			who = other
		}
		if err := who.add(uses(fmt.Sprint("t", i%11))); err != nil && !errors.Is(err, errLost) {
			t.Fatal(err)
		}
	}
	a.close()
	other.close()
	if n := len(b.all[board.SumStream]); n < 3 {
		t.Errorf("sums were written %d times", n)
	}
	// What is before the last sums is not read: those who open could not.
	last := b.all[board.SumStream][len(b.all[board.SumStream])-1]
	s, err := board.SummedType.Decode(last)
	if err != nil {
		t.Fatal(err)
	}
	want := b.folded(t)
	for i := range s.Upto {
		b.all[board.UsageStream][i].Payload = []byte(`"not counts"`)
	}
	b.tell = func() {}
	if got := countsOf(t, opened(t, b, 5)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// Sums of more than there is are not believed.
	b.all[board.UsageStream] = b.all[board.UsageStream][:s.Upto-1]
	if _, err := openAccount(context.Background(), b, nil, 5); !errors.Is(err, board.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// Sums that are too many for an event are several, which are read together.
func TestLargeSums(t *testing.T) {
	b := newBook()
	close(b.gate)
	a := opened(t, b, 1)
	var all []board.Use
	for i := range 2*maxUses + 10 {
		all = append(all, board.Use{Agent: fmt.Sprint("agent", i), Table: "t", Kind: board.Read})
	}
	if err := a.add(all); err != nil {
		t.Fatal(err)
	}
	a.close()
	a.sums[all[0]] = 7 // so that the sums tell that it is they that are read
	if err := a.writeSums(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.all[board.SumStream]); n%3 != 0 || n == 0 {
		t.Errorf("%d events", n)
	}
	want := countsOf(t, a)
	if got := countsOf(t, opened(t, b, 1)); got != want {
		t.Error("large sums are read otherwise than they were written")
	}
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
