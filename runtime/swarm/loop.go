package swarm

import (
	"context"
	"sync"
	"time"

	"dure/runtime/event"
)

// loop is a Run: one goroutine owns the state, and everything here is called by it.
type loop struct {
	c *Coordinator
	s *State

	base    event.Sequence // what the log holds
	pending []event.Event  // applied, and not in the log yet
	after   []func(error)  // answers that wait for it
	failed  error          // why nothing can be applied any more

	works     map[Key]*work
	disturbed bool // a work may be wanted no more

	ctx    context.Context // of the works: ends when Run does
	flying sync.WaitGroup
}

// begin takes the start for a pulse of all agents at work: how long they took no turn
// before nobody knows.
func (l *loop) begin() {
	for _, a := range l.s.agents {
		if a.Task != "" {
			a.Pulse = l.c.now()
		}
	}
}

// step decides until there is nothing to decide, writes it down, and starts what is due.
func (l *loop) step(ctx context.Context) error {
	var due []Effect
	for decided := true; decided && l.failed == nil; {
		due, decided = nil, false
		for _, e := range Plan(l.s, l.c.now(), l.busy) {
			if _, isWork := KeyOf(e); isWork {
				due = append(due, e)
				continue
			}
			decided = true
			l.add(l.s.decided(e)...)
		}
	}
	if err := l.commit(ctx); err != nil {
		return err
	}
	l.giveUp()
	for _, e := range due {
		l.start(e)
	}
	return nil
}

// decided are the payloads of the events that a decision is.
func (s *State) decided(e Effect) []any {
	switch e := e.(type) {
	case Hire:
		return []any{e.Hired}
	case Lease:
		return []any{e.Leased}
	case Return:
		return []any{e.Returned}
	case Dismiss:
		return []any{e.Dismissed}
	case End:
		return s.endings(e.Ended)
	case Submit:
		return []any{e.Submitted}
	case Draft:
		return []any{e.Drafted}
	case Approve:
		return []any{e.Approved}
	case Remind:
		return []any{e.Reminded}
	case ReAskFeasibility:
		return []any{e.Reasked}
	case Escalate:
		return []any{e.Asked}
	case Conclude:
		return []any{e.Finished}
	}
	return nil
}

// endings are the end of a task and of all below it that is open, from the leaves up: a
// process that dies between them leaves nothing open below what ended.
func (s *State) endings(p Ended) []any {
	var out []any
	var walk func(t *Task)
	walk = func(t *Task) {
		for _, id := range t.Children {
			child := s.task(id)
			if child.Ended() {
				continue
			}
			walk(child)
			reason := "ended with " + string(p.Task)
			if why := child.standstill(); why != "" {
				reason += ": " + why
			}
			out = append(out, Ended{Task: id, Outcome: Dropped, Reason: reason, With: p.Task, By: p.By})
		}
	}
	walk(s.task(p.Task))
	return append(out, p)
}

// add applies payloads as events, to be written down by the next commit.
func (l *loop) add(payloads ...any) {
	for _, p := range payloads {
		if l.failed != nil {
			return
		}
		e, err := newEvent(l.c.now(), p)
		if err == nil {
			e.Stream, e.Sequence = Stream, l.s.last+1
			err = l.s.Apply(e)
		}
		if err != nil {
			l.failed = err
			return
		}
		l.pending = append(l.pending, e)
		switch p.(type) {
		case Submitted, Ended, Parked, Reopened, Dismissed, Finished, Asked, Rejected, Delivered:
			l.disturbed = true
		}
	}
}

// commit writes down what was applied, and only then gives the answers that rest on it.
// An append that has begun is not given up with ctx: what it did must be known.
func (l *loop) commit(ctx context.Context) error {
	err := l.failed
	for err == nil && len(l.pending) > 0 {
		n := portion(l.pending)
		var last event.Sequence
		if last, err = l.append(ctx, l.pending[:n]); err == nil {
			l.base, l.pending = last, l.pending[n:]
		}
	}
	for _, answer := range l.after {
		answer(err)
	}
	l.after = nil
	return err
}

// portion is how many events go into one append.
func portion(events []event.Event) int {
	bytes := 0
	for i, e := range events {
		if bytes += len(e.Payload); i == event.MaxEvents || bytes > event.MaxAppend {
			return i
		}
	}
	return len(events)
}

// sleep waits for something to happen, and takes all that has.
func (l *loop) sleep(ctx context.Context) error {
	var alarm <-chan time.Time
	if at := l.wake(); !at.IsZero() {
		timer := time.NewTimer(max(0, at.Sub(l.c.now())))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-alarm:
	case take := <-l.c.inbox:
		take(l)
	}
	for range inboxSize {
		select {
		case take := <-l.c.inbox:
			take(l)
		default:
			return nil
		}
	}
	return nil
}
