package sqlite

import (
	"context"
	"sync"
)

// A bell tells watchers of changes, in order. A watcher that is slow holds up
// nobody: what it has not heard yet is kept for it as a list.
type bell struct {
	mu       sync.Mutex
	watchers map[*watcher]bool
	closed   bool
}

type watcher struct {
	news []moved
	wake chan struct{} // capacity 1
}

type moved struct {
	number uint64
	tables []string
}

func (b *bell) ring(news ...moved) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.watchers {
		w.news = append(w.news, news...)
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

func (b *bell) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for w := range b.watchers {
		close(w.wake)
	}
	b.watchers = nil
}

// listen calls f for all that is rung until ctx ends or the bell is closed.
func (b *bell) listen(ctx context.Context, f func(uint64, []string)) {
	w := &watcher{wake: make(chan struct{}, 1)}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	if b.watchers == nil {
		b.watchers = make(map[*watcher]bool)
	}
	b.watchers[w] = true
	b.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			b.mu.Lock()
			delete(b.watchers, w)
			b.mu.Unlock()
			return
		case _, open := <-w.wake:
			b.mu.Lock()
			news := w.news
			w.news = nil
			b.mu.Unlock()
			for _, m := range news {
				f(m.number, m.tables)
			}
			if !open {
				return
			}
		}
	}
}
