package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dure/runtime/board"
	"dure/runtime/event"
)

// group runs one job, and those that come meanwhile, as one transaction.
func (w *writer) group(first *job) {
	w.run([]*job{first}, true)
	if w.large {
		w.large = false
		w.cutBack()
	}
}

// run runs jobs as one transaction. With more, it gathers others.
func (w *writer) run(todo []*job, more bool) {
	if err := w.ready(); err != nil {
		w.failAll(todo, err)
		return
	}
	var ok []*job
	bytes, begun := 0, time.Now()
	for len(todo) > 0 {
		j := todo[0]
		todo = todo[1:]
		if len(ok) > 0 && (j.alone || among(ok, j.id)) { // after the others
			w.finish(ok)
			ok, bytes = nil, 0
			if err := w.ready(); err != nil {
				w.failAll(append(todo, j), err)
				return
			}
		}
		err := w.try(j)
		switch {
		case w.conn.GetAutocommit():
			// The transaction is lost, with what others did in it: they do it again.
			for _, other := range ok {
				w.drop(other)
			}
			todo, ok, bytes = append(ok, todo...), nil, 0
			w.fail(j, err)
			if err := w.restart(); err != nil {
				w.failAll(todo, err)
				return
			}
		case err != nil:
			w.fail(j, err)
		default:
			ok = append(ok, j)
			if j.event != nil {
				bytes += len(j.event.Payload)
			}
		}
		more = more && !j.alone && !j.slow && len(ok) < groupJobs && bytes < groupBytes && time.Since(begun) < groupTime
		if len(todo) == 0 && more {
			if j := w.poll(); j != nil {
				todo = append(todo, j)
			}
		}
	}
	w.finish(ok)
}

// among reports whether a job of that ID is in the group.
func among(jobs []*job, id event.ID) bool {
	return slices.ContainsFunc(jobs, func(j *job) bool { return j.id == id })
}

// ready catches up if need be and begins a transaction.
func (w *writer) ready() error {
	if w.behind {
		if err := w.catchUp(context.Background()); err != nil {
			return fmt.Errorf("catch up with the log: %w", explain(err))
		}
	}
	return explain(execute(w.begin))
}

// restart begins again after the transaction was lost.
func (w *writer) restart() error {
	if err := w.load(); err != nil {
		return err
	}
	return w.ready()
}

// drop removes what a job put beside the tables.
func (w *writer) drop(j *job) {
	if j.away == nil {
		return
	}
	w.large = w.large || j.away.sum != nil
	if err := j.away.drop(); err != nil {
		w.store.cfg.Logger.Warn("changes that nobody needs cannot be removed", "error", err)
	}
	j.away = nil
}

// errSlow: the job is to be run again by itself.
var errSlow = errors.New("slow")

// fail ends a job, or puts it among the slow ones.
func (w *writer) fail(j *job, err error) {
	w.drop(j)
	if !errors.Is(err, errSlow) {
		j.done <- err
		return
	}
	for _, other := range w.slow {
		if other.agent.Name == j.agent.Name {
			j.done <- board.Refuse(board.ErrBusy, nil, "another slow statement of yours waits already")
			return
		}
	}
	j.clear()
	j.slow, j.since = true, w.store.cfg.Now()
	w.slow = append(w.slow, j)
}

func (w *writer) failAll(jobs []*job, err error) {
	for _, j := range jobs {
		w.fail(j, err)
	}
}

// try runs one job within a savepoint. What fails leaves nothing, unless it has
// lost the whole transaction.
func (w *writer) try(j *job) error {
	l := w.store.cfg.Limits
	now := w.store.cfg.Now()
	switch {
	case j.ctx.Err() != nil:
		return j.ctx.Err()
	case now.Sub(j.since) > l.Queue:
		return errBusy(l)
	}
	j.clear()
	if err := execute(w.savepoint); err != nil {
		return explain(err)
	}
	long, brief := moment, true
	if j.slow || j.alone {
		long, brief = l.Time, false
	}
	w.conn.clock.run(j.ctx, long, brief, w.cap.hopeless)
	w.conn.caller, w.conn.at = j.agent, now.UTC().Format(board.TimeFormat)
	err := j.do(w, j)
	w.conn.clock.end()
	touched := w.cap.rows > 0 || w.cap.err != nil
	w.cap.begin(nil, nil)
	if j.slow {
		w.slowAfter = w.store.cfg.Now().Add(slowPause * w.store.cfg.Now().Sub(now))
	}
	if w.conn.GetAutocommit() {
		return err
	}
	if err == nil {
		return explain(execute(w.release))
	}
	e := errors.Join(execute(w.back), execute(w.release))
	if touched {
		e = errors.Join(e, loadLast(w.conn.Conn, w.cap.tables))
	}
	if e != nil {
		return errors.Join(err, explain(e))
	}
	return err
}
