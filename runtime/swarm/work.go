package swarm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A work that the World could not carry out is tried again after a while, twice as long
// each time; after so many times a person is asked.
const (
	firstWait   = time.Second
	longestWait = time.Minute
	mostTries   = 5
)

// A work is one that is under way, or waits for its next try.
type work struct {
	cancel context.CancelFunc // nil: it waits
	tries  int
	full   int // tries that found no room
	next   time.Time
}

// busy reports whether a work is not to be started.
func (l *loop) busy(k Key) bool {
	w := l.works[k]
	return w != nil && (w.cancel != nil || l.c.now().Before(w.next))
}

// wake is when there is something to do although nothing happens.
func (l *loop) wake() time.Time {
	next := l.s.Wake(l.c.now())
	if l.s.paused != nil {
		return next
	}
	for _, w := range l.works {
		if w.cancel == nil && (next.IsZero() || w.next.Before(next)) {
			next = w.next
		}
	}
	return next
}

// start carries out a work in a goroutine of its own.
func (l *loop) start(e Effect) {
	k, _ := KeyOf(e)
	w := l.works[k]
	if w == nil {
		w = &work{}
		l.works[k] = w
	}
	ctx, cancel := context.WithCancel(l.ctx)
	w.cancel = cancel
	l.flying.Go(func() {
		defer cancel()
		result, err := l.c.carryOut(ctx, e)
		select {
		case l.c.inbox <- func(l *loop) { l.done(k, w, result, err) }:
		case <-l.ctx.Done():
		}
	})
}

// wait returns when no work is under way.
func (l *loop) wait() { l.flying.Wait() }

// done takes what came of a work: an event, unless it is of an old epoch.
func (l *loop) done(k Key, w *work, result any, err error) {
	if l.works[k] != w {
		return // it was given up
	}
	w.cancel()
	if err == nil {
		delete(l.works, k)
		if k.Verb == VerbTell || l.s.wants(k) {
			l.add(result)
		}
		return
	}
	if errors.Is(err, ErrEnded) {
		delete(l.works, k)
		if l.s.finished == nil {
			l.add(Finished{Finish: FinishStopped, Reason: err.Error(), By: Person})
		}
		return
	}
	l.again(k, w, err)
}

// again has a work tried later, or a person asked.
func (l *loop) again(k Key, w *work, err error) {
	if errors.Is(err, ErrFull) {
		w.full++
		w.cancel, w.next = nil, l.c.now().Add(min(longestWait, firstWait<<min(w.full, 10)))
		l.add(l.s.full(err.Error())...)
		return
	}
	w.tries++
	w.cancel, w.next = nil, l.c.now().Add(min(longestWait, firstWait<<min(w.tries-1, 10)))
	l.c.logger.Warn("a work failed and is tried again", "work", k.Verb, "task", k.Task, "epoch", k.Epoch, "tries", w.tries, "error", err)
	if w.tries < mostTries || k.Verb == VerbTell || k.Verb == VerbOpen || !l.s.wants(k) {
		return
	}
	delete(l.works, k)
	l.add(Asked{
		Question: l.s.nextQuestion(), Task: k.Task, Holds: true,
		Text: clip(fmt.Sprintf("The %s of %s failed %d times: %v\nMend that and answer; it is then tried again.", k.Verb, k.Task, w.tries, err), MaxText),
	})
}

// giveUp ends works that are wanted no more: of tasks that were parked, ended, held or
// taken from their agent.
func (l *loop) giveUp() {
	if !l.disturbed {
		return
	}
	l.disturbed = false
	for k, w := range l.works {
		if l.s.wants(k) {
			continue
		}
		if w.cancel != nil {
			w.cancel()
		}
		delete(l.works, k)
	}
}

// wants reports whether a work's result still counts.
func (s *State) wants(k Key) bool {
	if s.finished != nil {
		return false
	}
	switch k.Verb {
	case VerbOpen:
		for _, f := range s.files {
			if f.Task == k.Task {
				return f.shut
			}
		}
		return false
	case VerbTell:
		for _, l := range s.letters {
			if l.Agent == k.Agent && l.Ref == k.Ref {
				return true
			}
		}
		return false
	}
	phase := map[Verb]Phase{
		VerbWork: PhaseLeased, VerbJudge: PhaseJudging, VerbCheck: PhaseReported, VerbVerify: PhaseReported, VerbLand: PhaseAccepted,
	}[k.Verb]
	t := s.task(k.Task)
	return t != nil && t.Epoch == k.Epoch && t.Phase == phase && t.held == "" && !t.parked()
}

// carryOut has the World do a work, and makes its result the payload of an event.
func (c *Coordinator) carryOut(ctx context.Context, e Effect) (any, error) {
	switch e := e.(type) {
	case Work:
		r, err := c.world.Work(ctx, e.Assignment)
		return Reported{
			Task: e.Task, Epoch: e.Epoch, Commit: r.Commit, Summary: clip(r.Summary, MaxSummary),
			Plan: clip(r.Plan, MaxPlan), GaveUp: clip(r.GaveUp, MaxSummary),
		}, err
	case Judge:
		v, err := c.world.Judge(ctx, e.Assignment)
		return Judged{
			Task: e.Task, Epoch: e.Epoch, Agent: e.Agent, Passed: v.Passed,
			Text: clip(v.Text, MaxSummary), Cites: clip(v.Cites, MaxSummary), GaveUp: clip(v.GaveUp, MaxSummary),
		}, err
	case Check:
		r, err := c.world.Check(ctx, e.Checking)
		return Checked{Task: e.Task, Epoch: e.Epoch, Commit: r.Commit, Passed: r.Passed, Output: r.Output.bounded(), By: Harness}, err
	case Verify:
		r, err := c.world.Verify(ctx, e.Checking)
		return Verified{Epoch: e.Epoch, Commit: r.Commit, Passed: r.Passed, Output: r.Output.bounded()}, err
	case Land:
		r, err := c.world.Land(ctx, e.Landing)
		return landed(e.Landing, r), err
	case Open:
		return Opened{Path: e.Path, Task: e.Task}, c.world.Open(ctx, e.Opening)
	case Tell:
		return Delivered{Agent: e.Agent, Ref: e.Ref}, c.world.Tell(ctx, e.Letter)
	}
	return nil, fmt.Errorf("%T is no work", e)
}

func landed(l Landing, r LandResult) any {
	switch {
	case r.Conflict != nil:
		return Conflicted{
			Task: l.Task, Epoch: l.Epoch, Commit: l.Commit, Conflict: r.Conflict.ID, With: r.Conflict.With,
			Detail: clip(r.Conflict.Detail, MaxSummary),
		}
	case r.Refused != "":
		return Refused{Task: l.Task, Epoch: l.Epoch, Commit: l.Commit, Reason: clip(r.Refused, MaxSummary)}
	}
	return Landed{Task: l.Task, Epoch: l.Epoch, Commit: l.Commit, Main: r.Main}
}
