package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"dure/runtime/event"
)

// memory is a Backend whose commits wait to be let go.
type memory struct {
	mu     sync.Mutex
	events []event.Event
	groups []int // appends in each
	looks  map[string]int
	gate   chan error // one for each commit: nil, or how it fails
}

func newMemory() *memory { return &memory{looks: make(map[string]int), gate: make(chan error)} }

func (m *memory) Commit(g *Group) error {
	m.mu.Lock()
	last := make(map[string]event.Sequence)
	for _, e := range m.events {
		last[e.Stream] = e.Sequence
	}
	out := g.Assign(event.Position(len(m.events)), last, nil)
	m.groups = append(m.groups, len(g.Writes))
	m.mu.Unlock()
	err := <-m.gate
	if err == nil {
		m.mu.Lock()
		m.events = append(m.events, out...)
		m.mu.Unlock()
	}
	return err
}

func (m *memory) Page(_ context.Context, q Query) ([]event.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []event.Event
	for _, e := range m.events {
		n := uint64(e.Position)
		if q.Stream != "" {
			n = uint64(e.Sequence)
		}
		if (q.Stream == "" || e.Stream == q.Stream) && n >= q.From && n <= q.To && len(out) < PageEvents {
			out = append(out, e)
		}
	}
	return out, nil
}

func (m *memory) Head(context.Context) (event.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return event.Position(len(m.events)), nil
}

func (m *memory) Last(_ context.Context, stream string) (event.Sequence, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks[stream]++
	var last event.Sequence
	for _, e := range m.events {
		if e.Stream == stream {
			last = e.Sequence
		}
	}
	return last, nil
}

func (m *memory) Touched(context.Context, event.Position, event.Position, int) ([]string, error) {
	return nil, nil
}
func (m *memory) Watch(ctx context.Context, _ func() bool, _ func()) { <-ctx.Done() }
func (m *memory) Close() error                                       { return nil }

func start(t *testing.T, m *memory) *Journal {
	t.Helper()
	j, err := Open(t.Context(), m, Config{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func numbered(size int) event.Event {
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = '1'
	}
	return event.Event{Type: "test", Version: 1, Payload: payload}
}

// appendAll starts an append each and returns how to wait for them.
func appendAll(ctx context.Context, j *Journal, count, size int) func() []error {
	errs := make([]error, count)
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() { _, errs[i] = j.Append(ctx, fmt.Sprint("s", i), 0, numbered(size)) })
	}
	return func() []error {
		wg.Wait()
		return errs
	}
}

// While a group is flushed the next one gathers, as large as it may be.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		count, size int
		want        string
	}{
		{1, 10, "[1 1]"},
		{100, 10, "[1 100]"},
		{maxGroup + 3, 10, fmt.Sprintf("[1 %d 3]", maxGroup)},
		{17, 1 << 20, "[1 8 8 1]"},
		{20, 300_000, "[1 20]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			j := start(t, m)
			first := appendAll(t.Context(), j, 1, 10)
			synctest.Wait()
			rest := make([]error, c.count)
			var wg sync.WaitGroup
			for i := range c.count {
				wg.Go(func() { _, rest[i] = j.Append(t.Context(), fmt.Sprint("t", i), 0, numbered(c.size)) })
			}
			synctest.Wait()
			close(m.gate)
			wg.Wait()
			if err := errors.Join(append(first(), rest...)...); err != nil {
				t.Error(err)
			}
			if got := fmt.Sprint(m.groups); got != c.want {
				t.Errorf("%d appends of %d bytes: groups %s, want %s", c.count, c.size, got, c.want)
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A group that fails fails all of its appends, and the log goes on.
func TestGroupFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		j := start(t, m)
		broken := errors.New("broken")
		first := appendAll(t.Context(), j, 1, 10)
		synctest.Wait()
		second := appendAll(t.Context(), j, 5, 10)
		synctest.Wait()
		m.gate <- broken
		m.gate <- broken
		for i, err := range append(first(), second()...) {
			if !errors.Is(err, broken) {
				t.Errorf("append %d: %v", i, err)
			}
		}
		third := appendAll(t.Context(), j, 1, 10)
		m.gate <- nil
		if err := third()[0]; err != nil {
			t.Error(err)
		}
		if head, err := j.Head(t.Context()); head != 1 || err != nil {
			t.Errorf("head %d, %v", head, err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The queue is bounded: who does not fit in waits, and may give up. Who is in the
// queue may too; whose append has begun is told what becomes of it.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		j := start(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		begun := appendAll(ctx, j, 1, 10)
		synctest.Wait()
		waiting := appendAll(ctx, j, queueLength+100, 10)
		synctest.Wait()
		if len(j.queue) != queueLength {
			t.Errorf("%d in the queue", len(j.queue))
		}
		cancel()
		for _, err := range waiting() {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		m.gate <- nil
		if err := begun()[0]; err != nil {
			t.Error(err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if len(m.events) != 1 || len(m.groups) != 1 {
			t.Errorf("%d events in %v", len(m.events), m.groups)
		}
	})
}

// Close carries out what is in the queue and refuses what comes.
func TestCloseFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		j := start(t, m)
		queued := appendAll(t.Context(), j, 50, 10)
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- j.Close() }()
		synctest.Wait()
		if _, err := j.Append(t.Context(), "late", 0, numbered(10)); !errors.Is(err, event.ErrClosed) {
			t.Errorf("got %v", err)
		}
		close(m.gate)
		if err := errors.Join(queued()...); err != nil {
			t.Error(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if len(m.events) != 50 {
			t.Errorf("%d events", len(m.events))
		}
	})
}

// A follower is woken for its own stream only: a thousand of them cost a busy
// stream nothing.
func TestQuietFollowersSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		close(m.gate)
		j := start(t, m)
		got := make(chan event.Event, 10)
		go func() {
			for e, err := range j.Follow(t.Context(), "quiet", 0) {
				if err != nil {
					return
				}
				got <- e
			}
		}()
		synctest.Wait()
		for n := range 100 {
			if _, err := j.Append(t.Context(), "busy", event.Sequence(n), numbered(10)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if m.looks["quiet"] != 1 {
			t.Errorf("it has looked %d times", m.looks["quiet"])
		}
		if _, err := j.Append(t.Context(), "quiet", 0, numbered(10)); err != nil {
			t.Fatal(err)
		}
		if e := <-got; e.Stream != "quiet" {
			t.Errorf("got %+v", e)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}
