package journal

import (
	"sync"

	"dure/runtime/event"
)

// everything is the key of who waits for events of any stream. No stream has this
// name.
const everything = ""

// A bell wakes followers. A waiter has room for one ring: being woken once or ten
// times before it looks is the same to it, so rings never pile up.
type bell struct {
	mu      sync.Mutex
	waiters map[string]map[*waiter]bool
	// seen: all events up to here have been rung for.
	seen event.Position
	// gap is rung when a position beyond seen+1 was committed here, because another
	// process has committed what is between. The watcher then looks.
	gap chan struct{}
}

type waiter struct {
	key  string
	wake chan struct{} // capacity 1
}

func newBell(head event.Position) *bell {
	return &bell{waiters: make(map[string]map[*waiter]bool), seen: head, gap: make(chan struct{}, 1)}
}

// wait enters a waiter for a stream, or for everything. It must be entered before
// its owner reads, so that nothing falls between reading and waiting.
func (b *bell) wait(key string) *waiter {
	w := &waiter{key: key, wake: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters[key] == nil {
		b.waiters[key] = make(map[*waiter]bool)
	}
	b.waiters[key][w] = true
	return w
}

func (b *bell) forget(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiters[w.key], w)
	if len(b.waiters[w.key]) == 0 {
		delete(b.waiters, w.key)
	}
}

// waiting reports whether anybody waits.
func (b *bell) waiting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiters) > 0
}

// ring wakes who waits for the streams of the events at first to last.
func (b *bell) ring(first, last event.Position, streams []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake(streams)
	switch {
	case first > b.seen+1:
		poke(b.gap)
	case last > b.seen:
		b.seen = last
	}
}

// ringAll wakes everybody: too many streams were appended to to name them.
func (b *bell) ringAll(last event.Position) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, set := range b.waiters {
		for w := range set {
			poke(w.wake)
		}
	}
	b.seen = max(b.seen, last)
}

func (b *bell) rungFor() event.Position {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

func (b *bell) wake(streams []string) {
	for w := range b.waiters[everything] {
		poke(w.wake)
	}
	for _, name := range streams {
		for w := range b.waiters[name] {
			poke(w.wake)
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
