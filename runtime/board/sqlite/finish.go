package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dure/runtime/board"
	"dure/runtime/event"
)

// How long a failed log is asked again whether it has what was appended.
const (
	lookTimes = 5
	lookPause = 100 * time.Millisecond
)

// finish appends what the jobs changed, commits, and answers them. Jobs that fail
// are taken out and the others run again.
func (w *writer) finish(jobs []*job) {
	var events []event.Event
	for _, j := range jobs {
		if j.event != nil {
			events = append(events, *j.event)
		}
	}
	if len(events) == 0 {
		w.takeBack()
		w.answer(jobs, 0)
		return
	}
	last := w.at + event.Sequence(len(events))
	if err := w.note(jobs, last); err != nil {
		w.abandon()
		w.failAll(jobs, fmt.Errorf("note what was done: %w", explain(err)))
		return
	}
	_, err := w.store.cfg.Log.Append(context.Background(), board.Stream, w.at, events...)
	var dup *event.DuplicateError
	switch {
	case err == nil:
		w.keep(jobs, last)
	case errors.As(err, &dup):
		w.abandon()
		w.again(jobs, dup.ID)
	case errors.Is(err, event.ErrConflict):
		// Another process has this log's board open elsewhere.
		w.abandon()
		w.behind = true
		w.again(jobs, event.ID{})
	case errors.Is(err, event.ErrInvalid), errors.Is(err, event.ErrFull), errors.Is(err, event.ErrClosed):
		w.abandon()
		w.failAll(jobs, explain(err))
	default:
		w.abandon()
		w.look(jobs, err)
	}
}

// note writes into the transaction what is folded from the events besides rows.
func (w *writer) note(jobs []*job, last event.Sequence) error {
	counts := make(map[board.Use]int64)
	stored := make(map[string]int64)
	for _, j := range jobs {
		if j.event == nil {
			continue
		}
		for _, u := range j.result.Uses {
			counts[u]++
		}
		for agent, n := range j.stored {
			stored[agent] += n
		}
		if j.away != nil && j.away.sum != nil {
			if err := run(w.conn.Conn, "insert into dure_files values (?)", j.away.name); err != nil {
				return err
			}
		}
	}
	return w.noteSums(counts, stored, last)
}

func (w *writer) noteSums(counts map[board.Use]int64, stored map[string]int64, last event.Sequence) error {
	for u, n := range counts {
		err := w.conn.own("insert into dure_counts values (?, ?, ?, ?) on conflict do update set n = n + excluded.n",
			u.Agent, u.Table, string(u.Kind), n)
		if err != nil {
			return err
		}
	}
	for agent, n := range stored {
		err := w.conn.own("insert into dure_stored values (?, ?) on conflict do update set bytes = bytes + excluded.bytes", agent, n)
		if err != nil {
			return err
		}
	}
	return w.conn.own("update dure_at set sequence = ?", int64(last))
}

// keep commits what is in the log. If the file cannot take it, it is done all the
// same, and applied when there is room.
func (w *writer) keep(jobs []*job, last event.Sequence) {
	if err := execute(w.commit); err != nil {
		w.store.cfg.Logger.Warn("tables are behind their log, which has the writes; they catch up", "error", err)
		w.abandon()
		w.behind = true
		w.answer(jobs, last)
		return
	}
	w.at = last
	for _, j := range jobs {
		if j.after != nil {
			j.after()
		}
	}
	w.answer(jobs, last)
}

// answer tells the jobs, and whoever waits for changes. last is the sequence of the
// last job that has an event.
func (w *writer) answer(jobs []*job, last event.Sequence) {
	n := uint64(last)
	for _, j := range jobs {
		if j.event != nil {
			n--
		}
	}
	var news []moved
	for _, j := range jobs {
		if j.event != nil {
			n++
			j.result.Result.Change = n
			j.result.Logged = true
			if len(j.touched) > 0 {
				news = append(news, moved{n, j.touched})
			}
		}
	}
	if len(news) > 0 {
		w.store.bell.ring(news...)
	}
	for _, j := range jobs {
		j.done <- nil
	}
}

// takeBack ends a transaction as if it had not been.
func (w *writer) takeBack() {
	if w.conn.GetAutocommit() {
		return
	}
	if err := execute(w.rollback); err != nil {
		w.store.cfg.Logger.Error("a transaction cannot be taken back", "error", err)
	}
}

// abandon takes back a transaction, and what the writer knows of it.
func (w *writer) abandon() {
	w.takeBack()
	if err := w.load(); err != nil {
		w.store.cfg.Logger.Error("tables cannot be read again", "error", err)
		w.behind = true
	}
}

// again runs jobs once more, without the one whose event is in the log already.
func (w *writer) again(jobs []*job, done event.ID) {
	var rest []*job
	for _, j := range jobs {
		if j.away != nil { // it is run again, and makes its file again
			w.drop(j)
		}
		if j.id == done {
			w.fail(j, board.Refuse(board.ErrDuplicate, nil, "a write with this ID is in the log"))
			continue
		}
		rest = append(rest, j)
	}
	if len(rest) == 0 {
		return
	}
	w.run(rest, false)
}

// look asks the log what became of an append that failed in the middle.
func (w *writer) look(jobs []*job, cause error) {
	w.behind = true
	was := w.at
	err := w.catchUp(context.Background())
	for range lookTimes {
		if err == nil {
			break
		}
		time.Sleep(lookPause)
		err = w.catchUp(context.Background())
	}
	if err == nil && w.at > was {
		last, e := w.has(jobs, was)
		if e == nil && last > 0 {
			w.answer(jobs, last)
			return
		}
		err = e
	}
	w.failAll(jobs, board.Refuse(board.ErrUnknown, nil, "%v; send it again with the same ID", errors.Join(cause, err)))
}

// has is the sequence of the last event of the jobs if the log has them after a
// sequence, 0 if not.
func (w *writer) has(jobs []*job, after event.Sequence) (event.Sequence, error) {
	var last *job
	for _, j := range jobs {
		if j.event != nil {
			last = j
		}
	}
	for e, err := range w.store.cfg.Log.Read(context.Background(), board.Stream, after+1) {
		if err != nil {
			return 0, err
		}
		if e.ID == last.id { // all of an append or nothing
			return e.Sequence, nil
		}
	}
	return 0, nil
}

// cutBack folds the write-ahead file after a large write, and cuts it.
func (w *writer) cutBack() {
	if err := w.conn.Exec("pragma wal_checkpoint(truncate)"); err != nil {
		w.store.cfg.Logger.Warn("the write-ahead file stays long", "error", err)
	}
}
