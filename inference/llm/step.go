package llm

import (
	"errors"
	"fmt"
	"time"

	"dure/inference"
	"dure/inference/engine"
	"dure/inference/sched"
)

// decode computes one token for each row.
func (o *owner) decode(rows []sched.Row) {
	if len(rows) == 0 {
		return
	}
	o.batch.Reset()
	for _, row := range rows {
		r := o.alive[row.ID]
		if err := o.batch.Add(r.all[r.read], r.read, row.Slot, true); err != nil {
			panic(fmt.Sprintf("decode rows exceed the batch sized for them: %v", err))
		}
	}
	took, err := o.compute()
	if err != nil {
		o.failRows(rows, err)
		return
	}
	o.l.stats.decoded(len(rows), took)
	o.sched.Decoded(len(rows), int64(took))
	for i, row := range rows {
		r := o.alive[row.ID]
		o.extend(r, 1)
		o.sample(r, i)
	}
}

// prefill reads one chunk of one prompt, unless its request went meanwhile.
func (o *owner) prefill(c sched.Chunk) {
	r := o.alive[c.ID]
	if c.N == 0 || r == nil {
		return
	}
	o.batch.Reset()
	for i := range c.N {
		p := c.From + i
		if err := o.batch.Add(r.all[p], p, c.Slot, c.Last && i == c.N-1); err != nil {
			panic(fmt.Sprintf("prompt chunk exceeds the batch sized for it: %v", err))
		}
	}
	took, err := o.compute()
	if err != nil {
		o.failRows([]sched.Row{{ID: c.ID, Slot: c.Slot}}, err)
		return
	}
	o.l.stats.prefilled(c.N, took)
	o.cache.Read(c.N, took)
	o.sched.Read(c.ID, c.N, int64(took))
	o.extend(r, c.N)
	if c.Stop {
		if _, err := o.cache.Checkpoint(o.now(), r.lease); err != nil {
			o.l.log.Error("checkpoint", "request_id", r.name, "error", err)
		}
	}
	if c.Last {
		o.sample(r, c.N-1)
	}
}

// extend tells the cache what a sequence holds now.
func (o *owner) extend(r *request, n int) {
	if err := o.cache.Extend(o.now(), r.lease, r.all[r.read:r.read+n]); err != nil {
		o.l.log.Error("extend", "request_id", r.name, "error", err)
	}
	r.read += n
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

// failRows deals with a failed call. A full pool changed nothing, though the cache
// counted otherwise: somebody's cells are freed, and the others try again. After
// any other failure it is not known what the sequences hold; their requests end,
// others go on.
func (o *owner) failRows(rows []sched.Row, err error) {
	if victim, ok := o.sched.Victim(o.now(), 0); ok && errors.Is(err, engine.ErrPoolFull) && o.running() > 1 {
		o.l.log.Warn("the engine has fewer cells than were counted; a request starts again", "request_id", o.alive[victim].name)
		r := o.alive[victim]
		o.cache.Discard(o.now(), r.lease)
		o.park(r)
		return
	}
	o.l.log.Error("decode", "rows", len(rows), "error", err)
	for _, row := range rows {
		if r := o.alive[row.ID]; r != nil {
			o.discard(r)
			r.end(item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "the engine failed: %v", err)})
		}
	}
}

// sample draws a request's next token from a row and pushes it.
func (o *owner) sample(r *request, row int) {
	logits, err := o.ctx.Logits(row)
	var next engine.Token
	if err == nil {
		if tap := o.l.cfg.Tap; tap != nil {
			tap(r.name, r.read, logits)
		}
		next, err = r.sampler.Sample(logits)
	}
	if err != nil {
		o.failSample(r, err)
		return
	}
	if r.first.IsZero() {
		r.first = time.Now()
	}
	if !r.ignoreEOS && o.l.vocabulary.IsEOG(next) {
		o.finish(r, item{kind: itemFinish, finish: inference.FinishStop})
		return
	}
	d := drawn{token: next}
	if r.topLogprobs >= 0 {
		if d.logprob, err = r.sampler.Logprobs(logits, next, r.topLogprobs); err != nil {
			o.failSample(r, err)
			return
		}
	}
	r.all = append(r.all, next)
	r.sampler.Accept(next)
	o.deliver(r, d)
	if r.generated() >= r.maxTokens {
		o.finish(r, item{kind: itemFinish, finish: inference.FinishLength})
	}
}

// failSample ends a request for which no token could be drawn.
func (o *owner) failSample(r *request, err error) {
	o.finish(r, item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "no token could be drawn: %v", err)})
}
