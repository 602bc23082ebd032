package llm

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"dure/inference"
	"dure/inference/engine"
	"dure/inference/sched"
)

// owner is the state of the owner goroutine; nothing else touches it.
type owner struct {
	l     *LLM
	ctx   *engine.Context
	batch *engine.Batch
	sched *sched.Scheduler
	alive map[sched.ID]*request
	// left is when the last engine call returned; zero when the owner has
	// waited since.
	left time.Time
	pace *pace
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
	started <- nil
	for o.drain() {
		step := o.sched.Next()
		if len(step.Decode) == 0 || step.Prefill.N > 0 {
			o.handOverAll()
		}
		if step.Empty() {
			if !o.wait() {
				break
			}
			continue
		}
		o.decode(step.Decode)
		if !o.drain() {
			break
		}
		o.prefill(step.Prefill)
	}
	o.failAll(inference.Errorf(inference.CodeShuttingDown, "the model is being unloaded"))
}

func (l *LLM) newOwner() (*owner, error) {
	s, err := sched.New(l.limits())
	if err != nil {
		return nil, err
	}
	ctx, err := l.model.NewContext(l.cfg.contextOptions())
	if err != nil {
		return nil, err
	}
	return &owner{l: l, ctx: ctx, batch: ctx.NewBatch(), sched: s, alive: map[sched.ID]*request{}, pace: newPace(l.cfg.Threads, ctx.Waited())}, nil
}

func (o *owner) close() {
	if err := errors.Join(o.batch.Close(), o.ctx.Close()); err != nil {
		o.l.log.Error("free context", "error", err)
	}
}

// drain takes everything from the inbox without waiting and unblocks readers
// that caught up. It reports false when the model is to stop.
func (o *owner) drain() bool {
	for {
		select {
		case c := <-o.l.inbox:
			o.take(c)
		case <-o.l.wake:
			o.unblock()
		case <-o.l.stop:
			return false
		default:
			o.l.stats.publish(o.sched.Counts())
			return true
		}
	}
}

// wait blocks until there may be something to do.
func (o *owner) wait() bool {
	o.left = time.Time{}
	select {
	case c := <-o.l.inbox:
		o.take(c)
		return true
	case <-o.l.wake:
		o.unblock()
		return true
	case <-o.l.stop:
		return false
	}
}

func (o *owner) take(c command) {
	if c.cancel != nil {
		o.cancel(c.cancel, c.stopped)
		return
	}
	r := c.submit
	if err := o.sched.Add(r.id, len(r.prompt)); err != nil {
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
	c := o.sched.Counts()
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

// release forgets a request and frees its cache. The caller closes its outbox
// afterwards, so that whoever hears of the end finds the sequence free.
func (o *owner) release(r *request) {
	delete(o.alive, r.id)
	if slot := o.sched.Remove(r.id); slot >= 0 {
		if err := o.ctx.Remove(slot, engine.All, engine.All); err != nil {
			o.l.log.Error("free sequence", "request_id", r.name, "error", err)
		}
	}
	if !r.started.IsZero() {
		o.l.stats.held(time.Since(r.started))
	}
	o.l.stats.publish(o.sched.Counts())
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
	last.tokens = r.held
	last.times = r.times(time.Now())
	o.release(r)
	r.outbox <- last
	close(r.outbox)
}

func (r *request) times(now time.Time) times {
	var t times
	switch {
	case r.started.IsZero():
		t.queue = now.Sub(r.submitted)
	case r.first.IsZero():
		t.queue, t.prefill = r.started.Sub(r.submitted), now.Sub(r.started)
	default:
		t.queue, t.prefill, t.decode = r.started.Sub(r.submitted), r.first.Sub(r.started), now.Sub(r.first)
	}
	return t
}

// decode computes one token for each row.
func (o *owner) decode(rows []sched.Row) {
	if len(rows) == 0 {
		return
	}
	o.batch.Reset()
	for _, row := range rows {
		r := o.alive[row.ID]
		if err := o.batch.Add(r.next, r.position, row.Slot, true); err != nil {
			panic(fmt.Sprintf("decode rows exceed the batch sized for them: %v", err))
		}
	}
	took, err := o.compute()
	if err != nil {
		o.failRows(rows, err)
		return
	}
	o.l.stats.decoded(len(rows), took)
	for i, row := range rows {
		r := o.alive[row.ID]
		r.position++
		o.sample(r, i)
	}
}

// prefill reads one chunk of one prompt, unless its request went meanwhile.
func (o *owner) prefill(c sched.Chunk) {
	r := o.alive[c.ID]
	if c.N == 0 || r == nil {
		return
	}
	if r.started.IsZero() {
		r.started = time.Now()
	}
	o.batch.Reset()
	for i := range c.N {
		p := c.From + i
		if err := o.batch.Add(r.prompt[p], p, c.Slot, c.Last && i == c.N-1); err != nil {
			panic(fmt.Sprintf("prompt chunk exceeds the batch sized for it: %v", err))
		}
	}
	took, err := o.compute()
	if err != nil {
		o.failRows([]sched.Row{{ID: c.ID, Slot: c.Slot}}, err)
		return
	}
	o.l.stats.prefilled(c.N, took)
	r.position = c.From + c.N
	o.sched.Read(c.ID, c.N)
	if c.Last {
		o.sample(r, c.N-1)
	}
}

// compute calls the engine with the batch.
func (o *owner) compute() (took time.Duration, err error) {
	begin := time.Now()
	if !o.left.IsZero() {
		o.l.stats.overheadNS.Add(int64(begin.Sub(o.left)))
	}
	o.l.stats.steps.Add(1)
	err = o.ctx.Decode(o.batch)
	o.left = time.Now()
	o.l.stats.engineCPU.Store(int64(o.ctx.CPUTime()))
	took = o.left.Sub(begin)
	o.keepPace(took)
	return took, err
}

// keepPace gives up compute threads while other programs need the cores.
func (o *owner) keepPace(took time.Duration) {
	before := o.pace.threads
	now := o.pace.observe(took, o.ctx.Waited)
	if now == before {
		return
	}
	if err := o.ctx.SetThreads(now); err != nil {
		o.l.log.Error("set threads", "error", err)
		return
	}
	o.l.stats.threads.Store(int64(now))
	if now < before {
		o.l.log.Warn("other programs use the cores, computing with fewer threads", "threads", now)
	} else {
		o.l.log.Info("computing with more threads again", "threads", now)
	}
}

// failRows ends the requests of a failed call: what their sequences hold is
// unknown. Others go on.
func (o *owner) failRows(rows []sched.Row, err error) {
	o.l.log.Error("decode", "rows", len(rows), "error", err)
	for _, row := range rows {
		if r := o.alive[row.ID]; r != nil {
			o.finish(r, item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "the engine failed: %v", err)})
		}
	}
}

// sample draws a request's next token from a row and pushes it.
func (o *owner) sample(r *request, row int) {
	logits, err := o.ctx.Logits(row)
	if err == nil {
		if tap := o.l.cfg.Tap; tap != nil {
			tap(r.name, r.position, logits)
		}
		r.next, err = r.sampler.Sample(logits)
	}
	if err != nil {
		o.fail(r, err)
		return
	}
	if r.first.IsZero() {
		r.first = time.Now()
	}
	if !r.ignoreEOS && o.l.vocabulary.IsEOG(r.next) {
		o.finish(r, item{kind: itemFinish, finish: inference.FinishStop})
		return
	}
	d := drawn{token: r.next}
	if r.topLogprobs >= 0 {
		if d.logprob, err = r.sampler.Logprobs(logits, r.next, r.topLogprobs); err != nil {
			o.fail(r, err)
			return
		}
	}
	r.generated++
	r.sampler.Accept(r.next)
	o.deliver(r, d)
	if r.generated >= r.maxTokens {
		o.finish(r, item{kind: itemFinish, finish: inference.FinishLength})
	}
}

// fail ends a request for which no token could be drawn.
func (o *owner) fail(r *request, err error) {
	o.finish(r, item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "no token could be drawn: %v", err)})
}
