package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/desk"
)

const (
	// Bounds of a group: jobs, of which each has a subtransaction that every reader
	// looks at, cheaply up to 64; and for how long it gathers.
	groupJobs = 60
	groupTime = 20 * time.Millisecond
	// How many wait before submit waits to get into the queue.
	queueLength = 2048
	// How long a group's statement waits for a lock, which another transaction has:
	// the slow writer's, or another process's. Then others go on.
	lockPatience = "5ms"
	// When those that met a lock are tried again, if the slow writer does not end before.
	holdTime = 25 * time.Millisecond
)

// A writer is the goroutine that carries out writes in groups.
type writer struct {
	*store
	lane  *lane // of one session
	queue chan *job
	freed chan struct{} // capacity 1; a slow write has ended
	ended chan struct{}

	todo    []*job          // to be run again, before the queue
	held    []*job          // wait for locks of others
	until   time.Time       // when they are tried again
	blocked map[string]bool // tables whose lock another has: what writes them waits too
	full    map[string]bool // agents who met their quota: what they write is tried by itself
}

func newWriter(s *store, l *lane) *writer {
	return &writer{store: s, lane: l, queue: make(chan *job, queueLength), freed: make(chan struct{}, 1), ended: make(chan struct{}),
		blocked: make(map[string]bool), full: make(map[string]bool)}
}

// submit hands a job to the writer and waits for it.
func (w *writer) submit(j *job) (desk.Done, error) {
	full := time.NewTimer(w.cfg.Limits.Queue)
	defer full.Stop()
	select {
	case w.queue <- j:
	case <-j.ctx.Done():
		return desk.Done{}, j.ctx.Err()
	case <-full.C:
		return desk.Done{}, board.Refuse(board.ErrBusy, nil, "the statement waited %v and was not begun", w.cfg.Limits.Queue)
	}
	var err error
	select {
	case err = <-j.ended:
	case <-j.ctx.Done():
		if j.take() {
			return desk.Done{}, j.ctx.Err()
		}
		err = <-j.ended
	}
	if err != nil {
		return desk.Done{}, err
	}
	return j.done, nil
}

// letGo tells the writer that a slow write has ended.
func (w *writer) letGo() {
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// close ends the writer. Nobody waits for it any more.
func (w *writer) close() {
	close(w.queue)
	<-w.ended
}

// loop runs groups until the queue is closed.
func (w *writer) loop() {
	defer close(w.ended)
	for {
		j, open := w.next()
		if !open {
			return
		}
		if j != nil {
			w.run(j)
		}
	}
}

// next waits for a job to begin a group with; nil: look again.
func (w *writer) next() (*job, bool) {
	if j := w.again(); j != nil {
		return j, true
	}
	if len(w.held) == 0 {
		j, open := <-w.queue
		return w.fresh(j), open
	}
	over := time.NewTimer(time.Until(w.until))
	defer over.Stop()
	select {
	case j, open := <-w.queue:
		return w.fresh(j), open
	case <-over.C:
	case <-w.freed:
		w.until = time.Time{}
	}
	return nil, true
}

// again is the next of those that are run again, nil if there is none now.
func (w *writer) again() *job {
	if len(w.held) > 0 && !time.Now().Before(w.until) {
		w.todo, w.held = append(w.todo, w.held...), nil
		clear(w.blocked)
	}
	for len(w.todo) > 0 {
		j := w.todo[0]
		w.todo = w.todo[1:]
		if !w.blocked[j.target()] {
			return j
		}
		w.held = append(w.held, j)
	}
	return nil
}

// fresh takes a job from the queue, nil if it is not to be run now.
func (w *writer) fresh(j *job) *job {
	switch {
	case j == nil || !j.take():
		return nil // its caller has given it up
	case w.blocked[j.target()]:
		w.held = append(w.held, j)
		return nil
	}
	j.alone = j.alone || w.full[j.agent.Name]
	return j
}

// more is another job for the group that is gathered, or nil. Jobs that are run again
// are not put together with new ones, which might make them fail again.
func (w *writer) more(again bool) *job {
	if j := w.again(); j != nil || again {
		return j
	}
	for {
		select {
		case j, open := <-w.queue:
			if !open {
				return nil
			}
			if j = w.fresh(j); j != nil {
				return j
			}
		default:
			return nil
		}
	}
}

// hold has a job wait until another transaction has let go of a lock.
func (w *writer) hold(j *job) {
	if len(w.held) == 0 {
		w.until = time.Now().Add(holdTime)
		select {
		case <-w.freed: // of a slow write before
		default:
		}
	}
	if t := j.target(); t != "" {
		w.blocked[t] = true
	}
	w.held = append(w.held, j)
}

// retry has a job run again that failed through no fault of its own, but not for ever.
func (w *writer) retry(j *job, err error) {
	if j.tries++; j.tries <= tries {
		w.todo = append(w.todo, j)
		return
	}
	if errors.Is(err, errCollide) {
		err = board.Refuse(board.ErrBusy, nil, "the statement met others %d times and was not done", tries)
	}
	w.end(j, err)
}

// end answers a job.
func (w *writer) end(j *job, err error) {
	if j.cap != nil {
		j.cap.changes.drop()
	}
	if errors.Is(err, board.ErrQuota) {
		w.full[j.agent.Name] = true
	}
	j.ended <- err
}

// begun reports whether a job may begin now; if not, it was answered.
func (w *writer) begun(j *job) bool {
	err := j.ctx.Err()
	if err == nil {
		err = j.wait(w.cfg.Now(), w.cfg.Limits.Queue)
	}
	if err != nil {
		w.end(j, err)
	}
	return err == nil
}

// run runs a group that a job begins.
func (w *writer) run(j *job) {
	sess, err := w.lane.take(context.Background())
	if err != nil {
		w.end(j, err)
		return
	}
	defer w.lane.put(sess)
	g := &group{writer: w, sess: sess, again: j.tries > 0, since: time.Now()}
	for j != nil {
		if g.before(j) {
			w.todo = slices.Insert(w.todo, 0, j)
			break
		}
		if w.begun(j) {
			w.move(j)
			g.try(j)
		}
		if g.over() {
			break
		}
		j = w.more(g.again)
	}
	g.finish()
}

// move says when a job that takes long is to go on among the slow: at once, if there
// is a place; sooner or later in any case, since it holds up all others.
func (w *writer) move(j *job) {
	j.moment = slowAfter
	j.move = func(ran time.Duration) bool { return w.hasPlace(j.agent.Name, w.slowWriters) || ran > slowLast }
}
