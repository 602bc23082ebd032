package journal

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dure/runtime/event"
)

// queueLength is how many appends wait for the committer before Append itself
// waits to get into the queue.
const queueLength = 1024

// A Config says what a journal needs besides its backend.
type Config struct {
	Logger *slog.Logger     // nil: discard
	Now    func() time.Time // nil: time.Now; times of events that have none
}

// A Journal is an event.Log over a backend.
type Journal struct {
	backend Backend
	log     *slog.Logger
	now     func() time.Time
	bell    *bell

	queue     chan *pending
	committed chan struct{} // closed when the committer has ended
	watched   chan struct{} // closed when the watcher has ended
	stop      context.CancelFunc

	gate    sync.RWMutex // held for reading by whoever uses the queue or the backend
	closing chan struct{}
	once    sync.Once
	err     error // of Close
}

var _ event.Log = (*Journal)(nil)

// A pending append is in the queue. One side takes it: the committer to carry it
// out, or its caller to give it up.
type pending struct {
	write *Write
	taken chan struct{} // capacity 1; who sends into it has taken it
	done  chan error    // capacity 1
}

func (p *pending) take() bool {
	select {
	case p.taken <- struct{}{}:
		return true
	default:
		return false
	}
}

// Open starts the goroutines of a log. The backend is the journal's from here on.
func Open(ctx context.Context, backend Backend, cfg Config) (*Journal, error) {
	j := &Journal{
		backend:   backend,
		log:       cfg.Logger,
		now:       cfg.Now,
		queue:     make(chan *pending, queueLength),
		committed: make(chan struct{}),
		watched:   make(chan struct{}),
		closing:   make(chan struct{}),
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	if j.now == nil {
		j.now = time.Now
	}
	head, err := backend.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("event log: head: %w", err)
	}
	j.bell = newBell(head)
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	j.stop = stop
	go j.commitAll()
	go j.watch(watching)
	return j, nil
}

// Append implements event.Log.
func (j *Journal) Append(ctx context.Context, stream string, expected event.Sequence, events ...event.Event) (event.Sequence, error) {
	if err := event.CheckAppend(stream, expected, events); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("append to %q: %w", stream, err)
	}
	p := &pending{write: j.complete(stream, expected, events), taken: make(chan struct{}, 1), done: make(chan error, 1)}
	if err := j.enqueue(ctx, p); err != nil {
		return 0, fmt.Errorf("append to %q: %w", stream, err)
	}
	select {
	case err := <-p.done:
		return p.write.Last, err
	case <-ctx.Done():
	}
	if p.take() {
		return 0, fmt.Errorf("append to %q: %w", stream, ctx.Err())
	}
	// It has begun. What becomes of it is known in a moment, and is worth knowing.
	err := <-p.done
	return p.write.Last, err
}

// complete makes a write of an append: copies, with what the log fills in.
func (j *Journal) complete(stream string, expected event.Sequence, events []event.Event) *Write {
	w := &Write{Stream: stream, Expected: expected, Events: append([]event.Event(nil), events...)}
	now := j.now()
	for i := range w.Events {
		e := &w.Events[i]
		e.Stream = stream
		if e.ID == (event.ID{}) {
			e.ID = event.NewID()
		} else {
			w.Named = append(w.Named, e.ID)
		}
		if e.Time.IsZero() {
			e.Time = now
		}
	}
	return w
}

// enqueue waits for a place in the queue. The gate keeps Close from closing the
// queue meanwhile.
func (j *Journal) enqueue(ctx context.Context, p *pending) error {
	if !j.enter() {
		return event.ErrClosed
	}
	defer j.leave()
	select {
	case j.queue <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter holds the log open until leave, or says that it is closed.
func (j *Journal) enter() bool {
	j.gate.RLock()
	select {
	case <-j.closing:
		j.gate.RUnlock()
		return false
	default:
		return true
	}
}

func (j *Journal) leave() { j.gate.RUnlock() }

// Close implements event.Log.
func (j *Journal) Close() error {
	j.once.Do(func() {
		close(j.closing) // nobody enters any more, and waiters wake
		j.gate.Lock()    // those inside have left
		close(j.queue)
		j.gate.Unlock()
		<-j.committed
		j.stop()
		<-j.watched
		if err := j.backend.Close(); err != nil {
			j.err = fmt.Errorf("event log: close: %w", err)
		}
	})
	return j.err
}
