package land

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// run is the loop: the only mover of main.
func (l *Lander) run() {
	defer close(l.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer l.git.close()
	defer cancel()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var came []*work
		select {
		case <-l.stop:
			cancel()
			if l.gitBusy {
				<-l.merged
			}
			return
		case w := <-l.inbox:
			came = l.drain(w)
		case f := <-l.calls:
			f()
		case g := <-l.merged:
			l.gitBusy = false
			came = l.fromGit(ctx, g)
		case <-timer.C:
		}
		l.batch(ctx, came)
		l.judge()
		l.startGit(ctx)
		timer.Reset(l.nap())
	}
}

// drain takes what else has gathered.
func (l *Lander) drain(first *work) []*work {
	came := []*work{first}
	for len(came) < l.opt.Batch {
		select {
		case w := <-l.inbox:
			came = append(came, w)
		default:
			return came
		}
	}
	return came
}

// retake takes those who wait: turns or blocks may have changed.
func (l *Lander) retake() []*work {
	came := l.held
	l.held = nil
	return came
}

// nap is how long nothing needs to be done by itself.
func (l *Lander) nap() time.Duration {
	now := l.opt.Clock()
	d := time.Minute - now.Sub(now.Truncate(time.Minute)) // the breaker judges whole minutes
	if at, any := l.turns.Next(); any && len(l.held) > 0 {
		d = min(d, at.Sub(now))
	}
	return max(d, time.Millisecond)
}

// judge stops landing in a storm of conflicts.
func (l *Lander) judge() {
	if trip := l.breaker.Check(l.opt.Clock()); trip != nil {
		l.opt.Log.Warn("landing stopped itself", "minutes", trip.Minutes, "landings", trip.Commits, "conflicts", trip.Conflicts)
		l.happened(Event{Trip: trip})
	}
}

// outcome is what a landing of a batch came to, told when the batch is durable.
type outcome struct {
	w      *work
	landed *Landed
	err    error
}

// batch lands what waits and what came, as one batch of the store. Who waits comes
// first, and is asked again when others are done.
func (l *Lander) batch(ctx context.Context, came []*work) {
	came = append(l.retake(), came...)
	for len(came) > 0 {
		b := &batch{l: l, ctx: ctx, draft: l.repo.Draft(), main: l.main, tree: l.tree, now: l.opt.Clock()}
		for _, w := range came {
			b.take(w)
		}
		if b.finish(); len(b.outcomes) == 0 {
			return
		}
		came = l.retake()
	}
}

// A batch is landings on top of each other that become durable together.
type batch struct {
	l        *Lander
	ctx      context.Context
	draft    *vcs.Draft
	main     object.ID
	tree     object.ID
	now      time.Time
	outcomes []outcome
	landed   int
}

// take tries one landing.
func (b *batch) take(w *work) {
	switch err := w.ctx.Err(); {
	case err != nil:
		b.tell(w, nil, err)
		return
	case b.l.breaker.Tripped():
		b.tell(w, nil, ErrStopped)
		return
	}
	if err := b.l.settles(w); err != nil {
		b.tell(w, nil, err)
		return
	}
	if b.l.wait(b.now, w) {
		return
	}
	if err := b.refresh(w); err != nil {
		b.tell(w, nil, err)
		return
	}
	landed, err := b.try(w)
	if errors.Is(err, errGit) {
		b.l.queue = append(b.l.queue, w)
		return
	}
	b.tell(w, landed, err)
}

// refresh compares again if an ancestor of the commit landed meanwhile.
func (b *batch) refresh(w *work) error {
	if w.tier != "" || !b.l.stale(w) {
		return nil
	}
	return b.l.compare(b.ctx, w)
}

func (b *batch) tell(w *work, landed *Landed, err error) {
	b.outcomes = append(b.outcomes, outcome{w, landed, err})
}

// try merges, and makes the merge commit.
func (b *batch) try(w *work) (*Landed, error) {
	t := &trial{l: b.l, w: w, ctx: b.ctx, draft: b.draft, main: b.main, tree: b.tree}
	tree, err := t.run()
	if err != nil {
		return nil, err
	}
	split, err := t.trace(tree)
	if err != nil {
		return nil, err
	}
	commit, err := t.commit(tree)
	if err != nil {
		return nil, err
	}
	out := &Landed{
		Commit: commit, Source: w.Commit, Parent: b.main, Agent: w.Agent, Task: w.Task,
		Tier: t.tier, Files: t.files, Resolves: w.Resolves, Split: split,
	}
	b.main, b.tree = commit, tree
	b.landed++
	for _, f := range t.files {
		b.l.last[f.Path] = Side{w.Agent, w.Task, w.Commit}
	}
	return out, nil
}

// finish makes the batch durable, then tells everybody.
func (b *batch) finish() {
	l := b.l
	if b.landed > 0 {
		l.totals.Batches++
		err := l.repo.Apply(b.ctx, vcs.Landing(), b.draft, vcs.Move{Ref: l.repo.Main(), Old: l.main, New: b.main})
		if err != nil {
			b.fail(err)
			return
		}
		l.main, l.tree = b.main, b.tree
	}
	var events []Event
	for _, o := range b.outcomes {
		if e, ok := l.outcome(b.now, o); ok {
			events = append(events, e)
		}
	}
	l.record(events)
	for _, o := range b.outcomes {
		a := answer{err: o.err}
		if o.landed != nil {
			a.landed = *o.landed
		}
		o.w.answer <- a
	}
}

// fail tells those who would have landed, or were compared with what did not, that
// the store failed. main is where it was.
func (b *batch) fail(err error) {
	clear(b.l.last) // found in the history again
	for _, o := range b.outcomes {
		if o.landed == nil && o.err != nil && !errors.Is(o.err, ErrConflict) {
			o.w.answer <- answer{err: o.err}
			continue
		}
		o.w.answer <- answer{err: fmt.Errorf("move main: %w", err)}
	}
}
