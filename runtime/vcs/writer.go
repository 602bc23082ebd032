package vcs

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"dure/runtime/vcs/object"
)

// Bounds of a batch, and the size at which a log is sealed before its time.
const (
	maxBatch      = 512
	maxBatchBytes = 32 << 20
	sealAt        = 64 << 20
)

// A request is one Apply on its way.
type request struct {
	moves   []Move
	objects []stored
	bytes   int
	done    chan error // has room for the answer
}

// A writer is the one goroutine that appends to the log and moves refs. While a
// batch is flushed, the requests behind it gather, and the next batch takes them
// all: nobody waits for a batch to fill.
type writer struct {
	r         *Repository
	current   *segment
	batch     uint64 // number of the last one
	broken    error  // why nothing can be written any more
	buf       []byte
	publishes []chan error // who waits for what is in current
	sealing   *sealJob     // in progress, or to be tried again
	running   bool         // sealing is in progress
	sealed    chan error
}

// run serves requests until there will be no more, and leaves everything sealed.
func (w *writer) run() {
	tick := time.NewTicker(w.r.opt.SealEvery)
	defer tick.Stop()
	for {
		select {
		case q, open := <-w.r.requests:
			if !open {
				w.finish()
				return
			}
			w.commit(w.gather(q))
			if w.current.size >= sealAt {
				w.seal()
			}
		case p := <-w.r.publishes:
			w.publishes = append(w.publishes, p)
			w.seal()
		case err := <-w.sealed:
			w.wasSealed(err)
			if len(w.publishes) > 0 {
				w.seal()
			}
		case <-tick.C:
			w.seal()
		}
	}
}

// gather takes with a request all that wait behind it, up to the bounds.
func (w *writer) gather(q *request) []*request {
	batch, bytes := []*request{q}, q.bytes
	for len(batch) < maxBatch && bytes < maxBatchBytes {
		select {
		case q, open := <-w.r.requests:
			if !open {
				return batch
			}
			batch, bytes = append(batch, q), bytes+q.bytes
		default:
			return batch
		}
	}
	return batch
}

// commit decides over a batch, makes it durable, and answers.
func (w *writer) commit(batch []*request) {
	race := race{table: w.r.refs, won: make(map[string]object.ID, len(batch))}
	fresh := make(map[object.ID]bool, 4*len(batch))
	answers := make([]error, len(batch))
	var moves []Move
	var objects []stored
	for i, q := range batch {
		if answers[i] = race.run(q.moves); answers[i] != nil {
			continue
		}
		moves = append(moves, q.moves...)
		for _, o := range q.objects {
			if !fresh[o.id] && !w.logged(o.id) {
				fresh[o.id] = true
				objects = append(objects, o)
			}
		}
	}
	err := w.broken
	if err == nil && len(moves)+len(objects) > 0 {
		err = w.write(moves, objects)
	}
	for i, q := range batch {
		// Also a lost race is answered only now: what it lost to is durable.
		if err != nil {
			answers[i] = err
		}
		if answers[i] == nil {
			w.r.counters.requests.Add(1)
		}
		q.done <- answers[i]
	}
}

// logged reports whether an object is in a log already. Who sent it has looked at
// the packs.
func (w *writer) logged(id object.ID) bool {
	for _, s := range w.r.view.Load().segments {
		if _, ok := s.find(id); ok {
			return true
		}
	}
	return false
}

// write appends a record, flushes it, and shows what is in it to readers.
func (w *writer) write(moves []Move, objects []stored) error {
	s := w.current
	var at []int64
	w.buf, at = appendRecord(w.buf[:0], s.mark, w.batch+1, moves, objects)
	if _, err := s.file.Write(w.buf); err != nil {
		return w.undo(err)
	}
	if err := s.file.Sync(); err != nil {
		// What is on the disk now, nobody knows: a second flush may say that all is
		// well though pages were dropped.
		w.broken = fmt.Errorf("flush the log: %w: %w", ErrBroken, err)
		return w.broken
	}
	w.batch++
	s.mu.Lock()
	for i, o := range objects {
		s.objects[o.id] = span{offset: s.size + at[i], n: len(o.entry)}
	}
	s.mu.Unlock()
	s.size += int64(len(w.buf))
	s.moved = s.moved || len(moves) > 0
	w.r.refs.set(moves)
	w.r.counters.batches.Add(1)
	w.r.counters.objects.Add(int64(len(objects)))
	w.r.counters.bytes.Add(int64(len(w.buf)))
	if cap(w.buf) > 2*maxBatchBytes {
		w.buf = nil
	}
	return nil
}

// undo takes back a record of which only a part was written.
func (w *writer) undo(err error) error {
	if e := w.current.file.Truncate(w.current.size); e != nil {
		w.broken = fmt.Errorf("write the log: %w: %w", ErrBroken, errors.Join(err, e))
		return w.broken
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("write the log: %w: %w", ErrFull, err)
	}
	return fmt.Errorf("write the log: %w", err)
}

// seal has the current log sealed, or one tried again that could not be. One is
// sealed at a time; who waits for a later one is served when it is done.
func (w *writer) seal() {
	switch {
	case w.running:
		return
	case w.sealing != nil: // its last try failed
	case w.current.empty():
		w.tell(nil)
		return
	default:
		next, err := newSegment(w.r.opt.Disk, w.r.own, w.current.number+1)
		if err != nil {
			w.r.opt.Log.Error("the log cannot be sealed", "error", err)
			w.tell(err)
			return
		}
		w.sealing = &sealJob{segment: w.current, waiting: w.publishes}
		w.publishes = nil
		if w.current.moved {
			w.sealing.refs = w.r.refs.list("")
		}
		w.r.changeView(func(v *view) { v.segments = append([]*segment{next}, v.segments...) })
		w.current = next
	}
	w.running = true
	job := w.sealing
	go func() { w.sealed <- w.r.seal(job) }()
}

func (w *writer) wasSealed(err error) {
	w.running = false
	for _, p := range w.sealing.waiting {
		p <- err
	}
	w.sealing.waiting = nil
	if err != nil {
		w.r.opt.Log.Error("the log cannot be sealed and is tried again", "error", err)
		w.tell(err)
		return
	}
	w.sealing = nil
	poke(w.r.merge)
}

// tell answers who waits for what is in current.
func (w *writer) tell(err error) {
	for _, p := range w.publishes {
		p <- err
	}
	w.publishes = nil
}

// finish seals what there is. What cannot be sealed is read again by Open.
func (w *writer) finish() {
	for range 3 { // one in progress, the current one, and one more try
		if w.running {
			w.wasSealed(<-w.sealed)
		}
		w.seal()
	}
	if w.running {
		w.wasSealed(<-w.sealed)
	}
	if w.sealing == nil && w.current.empty() {
		if err := w.r.removeLog(w.current); err != nil {
			w.r.opt.Log.Warn("an empty log stays", "error", err)
		}
	}
	for {
		select {
		case p := <-w.r.publishes:
			p <- ErrClosed
		default:
			return
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
