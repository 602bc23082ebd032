package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"dure/kvcache"
	"dure/kvcache/codec"
)

// keeper is the state of the goroutine that owns the index: until Start it is
// Open's, then keep's alone.
type keeper struct {
	index    map[kvcache.ObjectID]*entry
	used     int64 // bytes of files, and the most that those being written may take
	lastFile uint64
	counts   Counts
	held     [codec.Calibrated + 1]Held

	// Accepted jobs, by how urgent they are; under way; ended and not received.
	reads, others []task
	flight        int
	writing       int
	awaiting      int // reads that wait for a change of their object
	finished      []Completion

	tasks   chan task
	results chan result
}

// task is a job with all that a worker needs of the index.
type task struct {
	job     Job
	entry   *entry
	head    *header // of a write
	reserve int64
	name    string // of the new file, of a change
}

type result struct {
	task task
	done Completion
	sum  [sumBytes]byte
	// Of a change: the file the object has now, and whether the old one was bad.
	name   string
	spoilt bool
}

// hold counts an entry by its class: 1 or -1 of it.
func (k *keeper) hold(e *entry, n int) {
	k.held[e.class].Objects += n
	k.held[e.class].Bytes += int64(n) * e.bytes
}

func (k *keeper) outstanding() int {
	return len(k.reads) + len(k.others) + k.flight + k.awaiting + len(k.finished)
}

// keep moves jobs to workers and completions to the owner. It always listens to
// all sides, so that nobody waits for each other; jobs are taken only as long as
// there is room, so that nothing grows without end.
func (s *Store) keep() {
	defer close(s.tasks)
	for {
		s.publish()
		var in chan Job
		if s.outstanding() < s.cfg.Queue {
			in = s.jobs
		}
		list, next := s.next()
		var tasks chan task
		var first task
		if next {
			tasks, first = s.tasks, (*list)[0]
		}
		var out chan Completion
		var ended Completion
		if len(s.finished) > 0 {
			out, ended = s.done, s.finished[0]
		}
		select {
		case j := <-in:
			s.accept(j)
		case tasks <- first:
			(*list)[0] = task{} // its data is the worker's alone
			*list = (*list)[1:]
			s.flight++
			if first.job.Kind.writes() {
				s.writing++
			}
		case r := <-s.results:
			s.settle(r)
		case out <- ended:
			s.finished[0] = Completion{} // its data is the owner's alone
			s.finished = s.finished[1:]
		case <-s.quit:
			for s.flight > 0 {
				s.settle(<-s.results)
			}
			return
		}
	}
}

// next is the list whose first task may begin. Writes leave a worker free.
func (s *Store) next() (list *[]task, ok bool) {
	if len(s.reads) > 0 {
		return &s.reads, true
	}
	if len(s.others) > 0 && (!s.others[0].job.Kind.writes() || s.writing < max(1, s.cfg.Workers-1)) {
		return &s.others, true
	}
	return nil, false
}

// accept checks a job against the index, and reserves its room.
func (s *Store) accept(j Job) {
	t := task{job: j, entry: s.index[j.Object]}
	var err error
	switch j.Kind {
	case Write:
		err = s.acceptWrite(&t)
	case Read:
		switch {
		case t.entry == nil:
			err = fmt.Errorf("read object %d: %w: there is none", j.Object, ErrBad)
		case s.overtakes(&t):
			return
		case t.entry.busy:
			err = fmt.Errorf("read object %d: %w", j.Object, ErrBusy)
		default:
			s.read(t)
			return
		}
	case Drop:
		if t.entry == nil {
			break
		}
		if t.entry.busy || t.entry.reading > 0 {
			err = fmt.Errorf("drop object %d: %w", j.Object, ErrBusy)
			break
		}
		t.entry.busy = true
		s.others = append(s.others, t)
		return
	case Change:
		err = s.acceptChange(&t)
	default:
		err = fmt.Errorf("job of kind %d on object %d: no such kind", j.Kind, j.Object)
	}
	if err != nil || j.Kind == Drop {
		s.end(Completion{Kind: j.Kind, Object: j.Object, Tag: j.Tag, Err: err})
		return
	}
	s.others = append(s.others, t)
}

func (s *Store) read(t task) {
	t.entry.reading++
	s.reads = append(s.reads, t)
}

func (s *Store) acceptWrite(t *task) error {
	j := &t.job
	if t.entry != nil {
		return fmt.Errorf("write object %d: %w: it exists", j.Object, ErrBusy)
	}
	if err := checkJob(j); err != nil {
		return err
	}
	if err := s.cfg.offers(j.Class); err != nil {
		return fmt.Errorf("write object %d: %w", j.Object, err)
	}
	t.head = plan(s.identity, j, sections(s.cfg.Identity.Layout, j.Data))
	t.reserve = t.head.most()
	if s.used+t.reserve > s.cfg.Budget {
		return fmt.Errorf("write object %d: %w: %d bytes more than %d of %d", j.Object, ErrBudget, t.reserve, s.used, s.cfg.Budget)
	}
	s.used += t.reserve
	s.lastFile++
	t.entry = &entry{name: fmt.Sprintf("%016x", s.lastFile), busy: true}
	s.index[j.Object] = t.entry
	return nil
}

// settle enters a worker's result.
func (s *Store) settle(r result) {
	s.flight--
	e, id := r.task.entry, r.task.job.Object
	switch r.done.Kind {
	case Write:
		s.writing--
		s.used += r.done.Bytes - r.task.reserve
		if e.busy, e.sum, e.bytes, e.class = false, r.sum, r.done.Bytes, r.done.Class; r.done.Err != nil {
			delete(s.index, id)
			break
		}
		s.hold(e, 1)
		s.counts.Written++
		s.counts.BytesWritten += int64(len(r.task.job.Data))
		s.counts.BytesCoded += r.done.Bytes
		s.counts.WriteNanos += int64(r.done.Took)
	case Read:
		e.reading--
		if r.done.Err != nil {
			r.done.Err = s.spoilt(id, e, r.done.Err)
			break
		}
		r.done.Bytes = e.bytes
		s.counts.Read++
		s.counts.BytesRead += int64(len(r.done.Data))
		s.counts.ReadNanos += int64(r.done.Took)
	case Change:
		s.writing--
		s.used -= r.task.reserve
		s.settleChange(&r)
		s.end(r.done)
		s.resume(r.task.job.Object, e)
		return
	case Drop:
		if e.busy = false; r.done.Err == nil {
			s.used -= e.bytes
			s.hold(e, -1)
			s.counts.Dropped++
			delete(s.index, id)
		}
	}
	s.end(r.done)
}

// spoilt puts a file out of the way that is not what was written, once. What the
// system would not open just now stays: the error says no more than that.
func (s *Store) spoilt(id kvcache.ObjectID, e *entry, why error) error {
	if reasonOf(why) == Unreadable && !errors.Is(why, fs.ErrNotExist) {
		return fmt.Errorf("object %d: %w", id, why)
	}
	if s.index[id] == e {
		if err := s.refuse(e.name, why); err != nil {
			return fmt.Errorf("read object %d: %w; and it cannot be set aside: %w", id, why, err)
		}
		s.used -= e.bytes
		s.hold(e, -1)
		delete(s.index, id)
	}
	return fmt.Errorf("object %d: %w: %w", id, ErrBad, why)
}

func (s *Store) end(c Completion) {
	if c.Err != nil {
		s.counts.Failed++
	}
	s.finished = append(s.finished, c)
}

// work does tasks until there are no more.
func (s *Store) work() {
	k := newKit(s.cfg)
	for t := range s.tasks {
		s.results <- s.do(t, k)
	}
}

func (s *Store) do(t task, k *kit) result {
	start := time.Now()
	j := &t.job
	r := result{task: t, done: Completion{Kind: j.Kind, Object: j.Object, Tag: j.Tag}}
	switch j.Kind {
	case Write:
		r.done.Bytes, r.done.Err = k.writeFile(s.cfg.Dir, t.entry.name, t.head, j.Data, s.cfg.classOf(j.Class))
		r.sum, r.done.Class = t.head.sum, t.head.quality
	case Read:
		var h *header
		if r.done.Data, h, r.done.Err = k.readFile(s.path(t.entry.name), s.identity, t.entry.sum, j.Data); r.done.Err == nil {
			r.done.Class = h.quality
		}
	case Change:
		s.change(&r, k)
	case Drop:
		if err := os.Remove(s.path(t.entry.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.done.Err = err
		}
	}
	r.done.Took = time.Since(start)
	return r
}
