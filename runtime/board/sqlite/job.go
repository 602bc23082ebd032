package sqlite

import (
	"context"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/desk"
	"dure/runtime/event"
)

// A job is one call that may change something, on its way to the writer and back.
type job struct {
	ctx   context.Context
	agent board.Agent
	id    event.ID // of its event
	since time.Time
	do    func(w *writer, j *job) error
	alone bool // it changes the schema
	slow  bool // it was broken off once

	// What do made of it.
	event   *event.Event // nil: nothing changed
	result  desk.Done
	touched []string         // tables
	stored  map[string]int64 // bytes by agent
	away    *changes
	after   func() // once it is committed

	done chan error // capacity 1
}

// submit hands a job to the writer and waits for it.
func (s *store) submit(ctx context.Context, a board.Agent, id board.ID, alone bool, do func(*writer, *job) error) (desk.Done, error) {
	if err := ctx.Err(); err != nil {
		return desk.Done{}, err
	}
	if id == (board.ID{}) {
		id = event.NewID()
	}
	j := &job{ctx: ctx, agent: a, id: id, since: s.cfg.Now(), do: do, alone: alone, done: make(chan error, 1)}
	// A full queue is waited for as long as the queue may be.
	full := time.NewTimer(s.cfg.Limits.Queue)
	defer full.Stop()
	select {
	case s.writer.queue <- j:
	case <-ctx.Done():
		return desk.Done{}, ctx.Err()
	case <-full.C:
		return desk.Done{}, errBusy(s.cfg.Limits)
	}
	// The writer looks at ctx before it begins, and while it runs the statement.
	if err := <-j.done; err != nil {
		return desk.Done{}, err
	}
	return j.result, nil
}

func errBusy(l board.Limits) error {
	return board.Refuse(board.ErrBusy, nil, "it waited %v and was not begun; try again later", l.Queue)
}

// clear forgets what an earlier run of the job made.
func (j *job) clear() {
	j.event, j.result, j.touched, j.stored, j.away, j.after = nil, desk.Done{}, nil, nil, nil, nil
}
