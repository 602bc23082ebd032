package embed

import (
	"errors"
	"runtime"
	"time"

	"dure/inference"
	"dure/inference/engine"
)

// owner is the state of the owner goroutine; nothing else touches it.
type owner struct {
	e     *Embedder
	ctx   *engine.EmbeddingContext
	queue queue
}

// command is what callers put into the inbox.
type command struct {
	submit *job // or
	cancel *job
}

// own is the owner goroutine, locked to its thread, which computes too. It unlocks
// before it ends: ending a thread that has run callbacks from C is not safe.
func (e *Embedder) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(e.done)
	ctx, err := e.model.NewEmbeddingContext(e.cfg.options())
	if err != nil {
		started <- err
		return
	}
	o := &owner{e: e, ctx: ctx}
	defer o.close()
	e.describe(ctx)
	o.measure()
	started <- nil
	for o.drain() {
		batch := o.queue.pack(e.cfg.Batch, e.cfg.Inputs)
		if len(batch) == 0 {
			if !o.rest() {
				break
			}
			continue
		}
		o.compute(batch)
	}
	o.failAll(errStopped)
}

var errStopped = inference.Errorf(inference.CodeShuttingDown, "the model is being unloaded")

// drain takes everything from the inbox without waiting; false ends the owner.
func (o *owner) drain() bool {
	for {
		select {
		case c := <-o.e.inbox:
			o.take(c)
		case <-o.e.stop:
			return false
		default:
			o.publish()
			return true
		}
	}
}

// rest waits until there is something to do.
func (o *owner) rest() bool {
	select {
	case c := <-o.e.inbox:
		o.take(c)
		return true
	case <-o.e.stop:
		return false
	}
}

func (o *owner) take(c command) {
	switch {
	case c.cancel != nil:
		if o.queue.remove(c.cancel) { // it may have ended by itself
			o.e.stats.cancelled.Add(1)
		}
	case o.queue.waiting() >= o.e.cfg.Queue:
		o.e.stats.rejected.Add(1)
		err := inference.Errorf(inference.CodeQueueFull, "%d requests are waiting, which is all that may; try again later", o.queue.waiting())
		err.RetryAfter = time.Second
		c.submit.end(err)
	default:
		o.queue.add(c.submit)
	}
}

// compute runs one batch and hands out what it gave.
func (o *owner) compute(batch []piece) {
	inputs, tokens := make([][]engine.Token, len(batch)), 0
	for i, p := range batch {
		inputs[i] = p.job.inputs[p.input]
		tokens += len(inputs[i])
	}
	if t := o.e.cfg.Turns; t != nil {
		t.Take(true)
		defer t.Give()
	}
	begun := time.Now()
	for _, p := range batch {
		if p.job.begun.IsZero() {
			p.job.begun = begun
		}
	}
	before := o.ctx.CPUTime()
	numbers, err := o.ctx.Embed(inputs)
	now := time.Now()
	o.e.stats.computed(len(batch), tokens, now.Sub(begun), o.ctx.CPUTime()-before)
	for i, p := range batch {
		p.job.last = now
		switch {
		case err != nil:
			o.fail(p.job, inference.Errorf(inference.CodeInternal, "the engine failed: %v", err))
		default:
			o.answer(p, numbers[i])
		}
	}
	if err != nil {
		o.e.log.Error("engine", "error", err)
	}
}

func (o *owner) answer(p piece, numbers []float32) {
	j := p.job
	j.numbers[p.input] = numbers
	if j.left--; j.left == 0 && o.queue.remove(j) {
		j.end(nil)
	}
}

// fail ends a job once, however many of its inputs were in the batch.
func (o *owner) fail(j *job, err error) {
	if o.queue.remove(j) {
		j.end(err)
	}
}

func (j *job) end(err error) {
	j.err = err
	close(j.done)
}

func (o *owner) failAll(err error) {
	for _, j := range o.queue.jobs {
		j.end(err)
	}
	for { // those that crossed with the stop
		select {
		case c := <-o.e.inbox:
			if c.submit != nil {
				c.submit.end(err)
			}
		default:
			return
		}
	}
}

func (o *owner) close() {
	if err := o.ctx.Close(); err != nil {
		o.e.log.Error("free context", "error", err)
	}
}

// publish tells how many requests are where.
func (o *owner) publish() {
	waiting := o.queue.waiting()
	o.e.stats.waiting.Store(int64(waiting))
	o.e.stats.running.Store(int64(len(o.queue.jobs) - waiting))
}

// measure asks the engine what it holds. Libraries that do not tell are no reason not
// to serve.
func (o *owner) measure() {
	b, err := o.ctx.Breakdown()
	if errors.Is(err, engine.ErrBreakdown) {
		o.e.log.Warn("memory after the load is not known", "error", err)
		return
	}
	o.e.memory = b.Buffers
}
