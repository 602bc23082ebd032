package postgres

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
	"dure/runtime/board/desk"
	"dure/runtime/event"
)

// A job is a call that may change rows, on its way to the writer and back.
type job struct {
	*call
	id    board.ID // of its event
	named bool     // its caller chose the ID
	claim bool
	steps func(rows func(*pgconn.ResultReader) error) []step
	uses  []board.Use // what it counts as; nil: the server is asked, which knows only of a whole transaction

	since  time.Time     // it waits since
	waited time.Duration // before that
	alone  bool          // in a transaction of its own
	tries  int           // that were lost through no fault of its own
	taken  chan struct{} // capacity 1; who sends into it has taken it: the writer, or its caller to give it up
	ended  chan error    // capacity 1

	// What came of the last try.
	cap  *capture
	done desk.Done
}

func (s *store) newJob(c *call, id board.ID, steps func(rows func(*pgconn.ResultReader) error) []step) *job {
	j := &job{call: c, id: id, named: id != board.ID{}, steps: steps, since: s.cfg.Now(), taken: make(chan struct{}, 1), ended: make(chan error, 1)}
	if !j.named {
		j.id = event.NewID()
	}
	return j
}

func (j *job) take() bool {
	select {
	case j.taken <- struct{}{}:
		return true
	default:
		return false
	}
}

// first reports whether a job must be the first of its transaction.
func (j *job) first() bool { return j.alone || j.uses == nil }

// target is the table that a job writes, empty if that is not known.
func (j *job) target() string {
	for _, u := range j.uses {
		if u.Kind == board.Write {
			return u.Table
		}
	}
	return ""
}

// tables are those of what a job's last try counts as.
func (j *job) tables() []string {
	var names []string
	for _, u := range j.done.Uses {
		names = append(names, u.Table)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// wait is that the time of a job that waited is not its own, up to a limit of waiting.
func (j *job) wait(now time.Time, limit time.Duration) error {
	waited := now.Sub(j.since)
	j.until, j.waited, j.since = j.until.Add(waited), j.waited+waited, now
	if j.waited > limit {
		return board.Refuse(board.ErrBusy, nil, "the statement waited %v and was not begun", limit)
	}
	return nil
}

// changed are the jobs that changed something.
func changed(jobs []*job) []*job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j.cap.changes.n == 0 })
}
