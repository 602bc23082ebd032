package eventtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"dure/runtime/event"
)

// Of those who expect the same end one wins: as many rounds as there are events.
func testRace(t *testing.T, p Place) {
	const racers, rounds = 8, 20
	logs := []event.Log{p.Open(t), p.Open(t)}
	var wins, losses atomic.Int64
	var wg sync.WaitGroup
	for r := range racers {
		wg.Go(func() {
			log, at := logs[r%2], event.Sequence(0)
			for at < rounds {
				seq, err := log.Append(limited(t), "race", at, Number(r, int(at)))
				var conflict *event.ConflictError
				switch {
				case err == nil && seq == at+1:
					wins.Add(1)
					at = seq
				case errors.As(err, &conflict) && conflict.Actual > at:
					losses.Add(1)
					at = conflict.Actual
				default:
					t.Errorf("expected %d: got %d, %v", at, seq, err)
					return
				}
			}
		})
	}
	wg.Wait()
	events := checked(t, logs[0])
	if wins.Load() != int64(len(events)) || len(events) < rounds {
		t.Errorf("%d wins, %d losses, %d events, want at least %d", wins.Load(), losses.Load(), len(events), rounds)
	}
}

// Two processes, many writers, readers that read all the time and followers: one
// order, nothing late, nothing twice.
func testOneOrder(t *testing.T, p Place) {
	const writers, each = 12, 40
	logs := []event.Log{p.Open(t), p.Open(t)}
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	followed := make([][]event.Event, 2)
	var watching, writing sync.WaitGroup
	for i, log := range logs {
		watching.Go(func() {
			for e, err := range log.FollowAll(ctx, 1) {
				if err != nil {
					t.Error(err)
					return
				}
				if followed[i] = append(followed[i], e); len(followed[i]) == writers*each {
					return
				}
			}
		})
		watching.Go(func() {
			seen := 0
			for ctx.Err() == nil && seen < writers*each {
				events, err := gather(log.ReadAll(ctx, event.Position(seen+1)))
				if err != nil { // a hole, in particular
					t.Error(err)
					return
				}
				seen += len(events)
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			log, last := logs[w%2], event.Sequence(0)
			for n := range each {
				stream, expected := fmt.Sprint("own", w), last
				if n%2 == 1 {
					stream, expected = "shared", event.Any
				}
				seq, err := log.Append(ctx, stream, expected, Number(w, n))
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				if n%2 == 0 {
					last = seq
				}
			}
		})
	}
	writing.Wait()
	watching.Wait()
	events := checked(t, logs[0])
	same(t, "followed in the first", followed[0], events)
	same(t, "followed in the second", followed[1], events)
	for w := range writers {
		next := 0
		for _, e := range events {
			if string(e.Payload) == string(Number(w, next).Payload) {
				next++
			}
		}
		if next != each {
			t.Errorf("writer %d: its events are in order up to %d", w, next)
		}
	}
}

// A follower follows in a goroutine of its own.
type follower struct {
	events chan event.Event
	err    chan error
}

func follow(ctx context.Context, start func(context.Context) func(func(event.Event, error) bool)) *follower {
	f := &follower{events: make(chan event.Event), err: make(chan error, 1)}
	go func() {
		for e, err := range start(ctx) {
			if err != nil {
				f.err <- err
				return
			}
			select {
			case f.events <- e:
			case <-ctx.Done():
				f.err <- ctx.Err()
				return
			}
		}
		f.err <- nil
	}()
	return f
}

func (f *follower) next(t testing.TB) event.Event {
	t.Helper()
	select {
	case e := <-f.events:
		return e
	case err := <-f.err:
		t.Fatalf("the follower ended: %v", err)
	case <-limited(t).Done():
		t.Fatal("the follower sees nothing")
	}
	return event.Event{}
}

func (f *follower) end(t testing.TB, want error) {
	t.Helper()
	select {
	case err := <-f.err:
		wantErr(t, err, want)
	case e := <-f.events:
		t.Fatalf("the follower goes on: %+v", e)
	case <-limited(t).Done():
		t.Fatal("the follower does not end")
	}
}

func testFollow(t *testing.T, p Place) {
	log := p.Open(t)
	appendTo(t, log, "s", 0, Number(0, 0))
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	f := follow(ctx, func(ctx context.Context) func(func(event.Event, error) bool) { return log.FollowAll(ctx, 0) })
	if e := f.next(t); e.Position != 1 {
		t.Errorf("first is %+v", e)
	}
	for n := 2; n < 20; n++ {
		appendTo(t, log, fmt.Sprint("s", n%3), event.Any, Number(0, n))
		if e := f.next(t); e.Position != event.Position(n) {
			t.Errorf("after position %d came %+v", n, e)
		}
	}
	cancel()
	f.end(t, context.Canceled)
}

// A follower of a stream that begins in the future waits for it.
func testFollowStream(t *testing.T, p Place) {
	log := p.Open(t)
	f := follow(limited(t), func(ctx context.Context) func(func(event.Event, error) bool) { return log.Follow(ctx, "s", 3) })
	for n := range 10 {
		appendTo(t, log, "other", event.Any, Number(1, n))
		appendTo(t, log, "s", event.Any, Number(0, n))
	}
	for n := 3; n <= 10; n++ {
		if e := f.next(t); e.Stream != "s" || e.Sequence != event.Sequence(n) {
			t.Errorf("want sequence %d, got %+v", n, e)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	f.end(t, event.ErrClosed)
}

// Appends of another process arrive, and in the right order with one's own.
func testFollowFar(t *testing.T, p Place) {
	near, far := p.Open(t), p.Open(t)
	one := follow(limited(t), func(ctx context.Context) func(func(event.Event, error) bool) { return near.Follow(ctx, "s", 0) })
	every := follow(limited(t), func(ctx context.Context) func(func(event.Event, error) bool) { return near.FollowAll(ctx, 0) })
	for n := range 6 {
		log := far
		if n%3 == 2 {
			log = near
		}
		appendTo(t, log, "s", event.Any, Number(0, n))
		if e := every.next(t); e.Position != event.Position(n+1) {
			t.Errorf("want position %d, got %+v", n+1, e)
		}
		if e := one.next(t); e.Sequence != event.Sequence(n+1) {
			t.Errorf("want sequence %d, got %+v", n+1, e)
		}
	}
	// One's own append right behind another's does not hide it.
	for n := 6; n < 12; n++ {
		appendTo(t, far, "s", event.Any, Number(0, n))
		appendTo(t, near, "other", event.Any, Number(1, n))
		if e := one.next(t); e.Sequence != event.Sequence(n+1) {
			t.Errorf("want sequence %d, got %+v", n+1, e)
		}
		if first, second := every.next(t), every.next(t); first.Stream != "s" || second.Stream != "other" {
			t.Errorf("got %+v, then %+v", first, second)
		}
	}
}

// A reader that stands still holds up nobody, and misses nothing.
func testSlow(t *testing.T, p Place) {
	const count = 1500
	log := p.Open(t)
	appendTo(t, log, "s", 0, Number(0, 0))
	f := follow(limited(t), func(ctx context.Context) func(func(event.Event, error) bool) { return log.FollowAll(ctx, 0) })
	f.next(t)
	for n := 1; n < count; n += 100 {
		var events []event.Event
		for i := range min(100, count-n) {
			events = append(events, Number(0, n+i))
		}
		appendTo(t, log, "s", event.Any, events...)
	}
	for n := 1; n < count; n++ {
		if e := f.next(t); e.Position != event.Position(n+1) {
			t.Fatalf("want position %d, got %+v", n+1, e)
		}
	}
}

func testWait(t *testing.T, p Place) {
	near, far := p.Open(t), p.Open(t)
	for n := range 4 {
		heads := make(chan event.Position, 1)
		go func() {
			head, err := near.Wait(limited(t), event.Position(n))
			if err != nil {
				t.Error(err)
			}
			heads <- head
		}()
		appendTo(t, []event.Log{near, far}[n%2], "s", event.Any, Number(0, n))
		if head := <-heads; head != event.Position(n+1) {
			t.Errorf("head %d, want %d", head, n+1)
		}
	}
	if head, err := near.Wait(limited(t), 1); err != nil || head != 4 {
		t.Errorf("got %d, %v", head, err)
	}
	ctx, cancel := context.WithCancel(limited(t))
	ended := make(chan error, 1)
	go func() { _, err := near.Wait(ctx, 4); ended <- err }()
	cancel()
	wantErr(t, <-ended, context.Canceled)
}

// Appends whose callers give up are there or not, as they were told.
func testCancel(t *testing.T, p Place) {
	const writers, each = 8, 30
	log := p.Open(t)
	var mu sync.Mutex
	told := make(map[string]bool) // payload -> acknowledged
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				ctx, cancel := context.WithCancel(limited(t))
				go cancel()
				_, err := log.Append(ctx, fmt.Sprint("s", w), event.Any, Number(w, n))
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				mu.Lock()
				told[string(Number(w, n).Payload)] = err == nil
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	there := make(map[string]bool)
	for _, e := range checked(t, log) {
		there[string(e.Payload)] = true
	}
	for payload, ok := range told {
		if ok != there[payload] {
			t.Errorf("%s: acknowledged %t, there %t", payload, ok, there[payload])
		}
	}
}

// Close under load: what was acknowledged is there, what was refused is not.
func testClose(t *testing.T, p Place) {
	const writers = 8
	log := p.Open(t)
	var wg sync.WaitGroup
	acknowledged := make([]int, writers)
	started := make(chan bool, writers)
	for w := range writers {
		wg.Go(func() {
			for n := 0; ; n++ {
				_, err := log.Append(context.Background(), fmt.Sprint("s", w), event.Sequence(n), Number(w, n))
				if errors.Is(err, event.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if acknowledged[w]++; n == 3 {
					started <- true
				}
			}
		})
	}
	for range writers {
		<-started
	}
	for range 2 {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	_, err := log.Head(limited(t))
	wantErr(t, err, event.ErrClosed)
	_, err = gather(log.ReadAll(limited(t), 0))
	wantErr(t, err, event.ErrClosed)
	_, err = gather(log.FollowAll(limited(t), 0))
	wantErr(t, err, event.ErrClosed)
	_, err = log.Wait(limited(t), 0)
	wantErr(t, err, event.ErrClosed)
	events := checked(t, p.Open(t))
	for w, n := range acknowledged {
		if got := len(of(events, fmt.Sprint("s", w))); got != n {
			t.Errorf("writer %d: %d acknowledged, %d there", w, n, got)
		}
	}
}
