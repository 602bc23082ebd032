package llm

import (
	"errors"
	"runtime"
	"time"

	"dure/inference"
	"dure/inference/engine"
	"dure/inference/prefix"
	"dure/inference/sched"
)

// owner is the state of the owner goroutine; nothing else touches it.
type owner struct {
	l     *LLM
	ctx   *engine.Context
	batch *engine.Batch
	sched *sched.Scheduler
	cache *prefix.Cache
	alive map[sched.ID]*request
	// fetching have a sequence that does not hold yet what is reused.
	fetching map[sched.ID]*request
	// starved: a request waits for room that comes free without a request ending.
	starved bool
	pins    pins
	// begun is the zero of ticks.
	begun time.Time
	// left is when the last engine call returned; zero when the owner has
	// waited since.
	left     time.Time
	stepped  time.Duration // that call took
	pace     *pace
	threads  int // that compute now
	matchers matchers
	// guesser is nil where there is no speculative decoding.
	guesser *guesser
	// drafter is nil where no draft model guesses.
	drafter *drafter
	// heads is nil where the model's own layers do not guess.
	heads *heads
	// tidied is when tidy was last called, tidying whether it found something.
	tidied  time.Time
	tidying bool
	// told is when the cache's counters were last published.
	told time.Time
}

// own is the owner goroutine. The thread lock is not a nicety: the calling
// thread computes too, and when it changes the system places it on the core of
// another compute thread often enough to make a step a hundred times slower. It
// unlocks before it ends: a locked goroutine takes its thread with it, and
// ending a thread that has run callbacks from C crashes the process now and
// then.
func (l *LLM) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(l.done)
	o, err := l.newOwner()
	if err != nil {
		started <- err
		return
	}
	defer o.close()
	l.info = l.describe(min(l.cfg.Context, o.ctx.SequenceContext()))
	l.memory = o.measure()
	l.recallFrom(o.cache.Folder())
	started <- nil
	o.failAll(o.serve())
	o.save()
	l.keepIn(o.cache.Folder())
}

// serve goes on until the model is to stop, or the engine is lost, and says why.
func (o *owner) serve() error {
	for o.drain() {
		if err := o.arrange(); err != nil {
			return o.lost(err)
		}
		if t := o.l.cfg.Turns; t != nil {
			o.sched.Slice(int64(t.Slice()))
		}
		step := o.sched.Next(o.now())
		if len(step.Decode) == 0 || step.Prefill.N > 0 {
			o.handOverAll()
		}
		if step.Empty() {
			if !o.rest() {
				break
			}
			continue
		}
		o.decode(step.Decode, step.Prefill.N > 0)
		if !o.drain() {
			break
		}
		o.prefill(step.Prefill)
		if time.Since(o.told) > cachePeriod {
			o.publishCache()
			o.cache.Balance(o.now())
		}
	}
	return inference.Errorf(inference.CodeShuttingDown, "the model is being unloaded")
}

// lost is for the log and for those whose requests end: the process is replaced.
func (o *owner) lost(err error) error {
	o.l.log.Error("the model's process cannot go on", "error", err)
	return inference.Errorf(inference.CodeInternal, "the engine failed: %v", err)
}

func (l *LLM) newOwner() (_ *owner, err error) {
	o := &owner{l: l, alive: map[sched.ID]*request{}, fetching: map[sched.ID]*request{}, begun: time.Now()}
	if o.ctx, err = l.model.NewContext(l.cfg.contextOptions()); err != nil {
		return nil, err
	}
	o.batch, o.pace, o.guesser = o.ctx.NewBatch(), newPace(l.cfg.Threads, o.ctx.Waited()), newGuesser(l.cfg)
	o.threads = l.cfg.Threads
	if o.drafter, err = l.newDrafter(o.ctx); err == nil {
		o.heads, err = l.newHeads(o.ctx)
	}
	if err != nil {
		o.close()
		return nil, err
	}
	if o.cache, err = prefix.Open(o.ctx, o.batch, l.prefixOptions(), l.log); err == nil {
		o.pins = newPins(o.cache.Tree.Stats(), l.cfg.Sequences)
		if o.sched, err = sched.New(l.limits(o.cache.Checkpoints())); err == nil {
			err = o.sched.Seed(l.cfg.Costs)
		}
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

// limits of the scheduler for this configuration.
func (l *LLM) limits(checkpoints bool) sched.Limits {
	limits := sched.Limits{Slots: l.cfg.Sequences, Queue: l.cfg.Queue, Chunk: batchTokens, MinChunk: wideChunk, Wide: wideChunk, Checkpoints: checkpoints}
	if l.cfg.Gap > 0 { // asked for: it comes before what is efficient
		limits.Gap, limits.MinChunk = int64(l.cfg.Gap), 0
	}
	return limits
}

func (l *LLM) prefixOptions() prefix.Options {
	return prefix.Options{
		Slots: l.cfg.Sequences, Cells: l.cfg.Context * l.cfg.Sequences, Facts: l.model.Facts(), Geometry: l.cfg.Geometry,
		RAMBytes: l.cfg.CacheRAM, Disk: l.cfg.CacheDisk,
	}
}

func (o *owner) close() {
	err := errors.Join(o.heads.close(), o.drafter.close(), o.batch.Close(), o.ctx.Close())
	if o.cache != nil {
		err = errors.Join(o.cache.Close(), err)
	}
	if err != nil {
		o.l.log.Error("free context", "error", err)
	}
}

// now never goes back, and goes on over restarts: what lies on disk has times too.
func (o *owner) now() sched.Tick { return o.begun.UnixNano() + int64(time.Since(o.begun)) }

// drain takes everything from the inbox without waiting and unblocks readers
// that caught up. It reports false when the model is to stop.
func (o *owner) drain() bool {
	for {
		select {
		case c := <-o.l.inbox:
			o.take(c)
		case <-o.l.wake:
			o.unblock()
		case r := <-o.cache.Fetched():
			o.completed(r)
		case <-o.l.stop:
			return false
		default:
			o.publish()
			return true
		}
	}
}

// rest blocks until there may be something to do. Before, what can wait is done:
// states are copied to where they outlive the process, a sequence at a time.
func (o *owner) rest() bool {
	o.left = time.Time{}
	o.publishCache()
	if o.offerAtEnd() {
		return true
	}
	sleep, idle := o.sleep()
	if !idle {
		return true
	}
	timer := time.NewTimer(sleep)
	defer timer.Stop()
	select {
	case c := <-o.l.inbox:
		o.take(c)
	case <-o.l.wake:
		o.unblock()
	case r := <-o.cache.Fetched():
		o.completed(r)
	case <-timer.C:
	case <-o.l.stop:
		return false
	}
	return true
}

// sleep is how long nothing happens by itself; false if there is something to
// pump right now.
func (o *owner) sleep() (d time.Duration, ok bool) {
	d = time.Hour
	if at, ok := o.sched.WaitUntil(o.now()); ok {
		d = time.Duration(at - o.now())
	}
	since := time.Since(o.tidied)
	if since >= tidyPeriod {
		if o.tidying = o.tidy(); o.tidying {
			return 0, false
		}
	}
	if o.tidying {
		d = min(d, tidyPeriod-since)
	}
	return d, true
}

func (o *owner) take(c command) {
	switch {
	case c.cancel != nil:
		o.cancel(c.cancel, c.stopped)
		return
	case c.look != nil:
		c.look.seen <- o.cache.Inspect(c.look.tokens, c.look.session, differing)
		return
	}
	r := c.submit
	r.all, r.slot = r.prompt, -1
	if r.guide != nil {
		r.guide.begin(&o.matchers)
	}
	o.guesser.enter(r)
	q := sched.Request{ID: r.id, Tokens: r.prompt, Agent: r.caller.agent, Priority: r.caller.priority}
	if d := r.caller.deadline; d > 0 {
		q.Deadline = o.begun.UnixNano() + int64(r.submitted.Sub(o.begun)+d)
	}
	if err := o.sched.Add(o.now(), q); err != nil {
		o.l.stats.rejected.Add(1)
		r.outbox <- item{kind: itemError, err: o.queueFull()}
		close(r.outbox)
		return
	}
	o.alive[r.id] = r
	r.outbox <- item{kind: itemAdmitted} // a fresh outbox has room
}

// queueFull guesses how long until a place is free: the mean time a request
// holds a sequence, for as many rounds as the queue is deep.
func (o *owner) queueFull() error {
	c := o.sched.Counts(o.now())
	err := inference.Errorf(inference.CodeQueueFull, "%d requests are running and %d are waiting, which is all that may; try again later",
		len(o.alive)-c.Waiting, c.Waiting)
	rounds := 1 + c.Waiting/o.l.cfg.Sequences
	err.RetryAfter = min(max(o.l.stats.meanHeld()*time.Duration(rounds), time.Second), time.Minute)
	return err
}

func (o *owner) cancel(r *request, stopped bool) {
	if o.alive[r.id] == nil {
		return // it ended by itself
	}
	if !stopped {
		o.l.stats.cancelled(r)
	}
	o.release(r)
	close(r.outbox)
}

// release forgets a request; what its sequence holds stays in the cache. The
// caller closes its outbox afterwards, so that whoever hears of the end finds the
// sequence free.
func (o *owner) release(r *request) {
	o.forget(r)
	o.cache.Release(o.now(), r.lease, r.caller.next)
}

// discard forgets a request whose sequence cannot be trusted.
func (o *owner) discard(r *request) {
	o.forget(r)
	o.cache.Discard(o.now(), r.lease)
}

func (o *owner) forget(r *request) {
	delete(o.alive, r.id)
	delete(o.fetching, r.id)
	o.guesser.leave(r)
	o.sched.Remove(o.now(), r.id)
	if !r.placed.IsZero() {
		o.l.stats.held(time.Since(r.placed))
	}
	o.publish()
}

func (o *owner) failAll(err error) {
	for _, r := range o.alive {
		o.finish(r, item{kind: itemError, err: err})
	}
	for { // submits that crossed with the stop
		select {
		case c := <-o.l.inbox:
			if c.submit != nil {
				c.submit.outbox <- item{kind: itemError, err: err}
				close(c.submit.outbox)
			}
		default:
			return
		}
	}
}

// finish releases and sends the last item. The outbox keeps one place for it
// (see handOver), so it never waits.
func (o *owner) finish(r *request, last item) {
	o.release(r)
	r.end(last)
}

func (r *request) end(last item) {
	last.tokens = r.held
	last.report = r.report(time.Now())
	r.outbox <- last
	close(r.outbox)
}

func (r *request) report(now time.Time) report {
	p := report{reused: r.reused, loss: r.loss}
	if r.stream != nil {
		p.drafted, p.accepted = r.stream.Drafted, r.stream.Accepted
	}
	switch {
	case r.placed.IsZero():
		p.queue = now.Sub(r.submitted)
	case r.restored.IsZero():
		p.queue, p.restore = r.placed.Sub(r.submitted), now.Sub(r.placed)
	case r.first.IsZero():
		p.queue, p.restore, p.prefill = r.placed.Sub(r.submitted), r.restored.Sub(r.placed), now.Sub(r.restored)
	default:
		p.queue, p.restore = r.placed.Sub(r.submitted), r.restored.Sub(r.placed)
		p.prefill, p.decode = r.first.Sub(r.restored), now.Sub(r.first)
	}
	return p
}
