package llm

import (
	"errors"
	"fmt"
	"time"

	"dure/inference"
	"dure/inference/engine"
	"dure/inference/sched"
)

// decode computes one token for each row, and one more for each guess behind it
// that is right. Reading says that a chunk of a prompt follows.
func (o *owner) decode(rows []sched.Row, reading bool) {
	if len(rows) == 0 {
		return
	}
	length := o.meanLength(rows)
	guesses := o.guess(rows, reading)
	guessed := o.fill(rows, guesses)
	took, err := o.compute(false)
	if guessed && errors.Is(err, engine.ErrPoolFull) { // it may do without
		guesses, guessed = nil, o.fill(rows, nil)
		took, err = o.compute(false)
	}
	if err != nil {
		o.failRows(rows, err)
		return
	}
	if g := o.guesser; g != nil {
		g.policy.Observe(len(rows), length, o.batch.Len(), int64(took))
	}
	if guessed { // the scheduler compares with steps of one token each
		o.sched.Decoded(len(rows), 0)
	} else {
		o.sched.Decoded(len(rows), int64(took))
	}
	o.l.stats.decoded(took)
	at := 0
	for i, row := range rows {
		var guess []engine.Token
		if guesses != nil {
			guess = guesses[i]
		}
		o.check(o.alive[row.ID], at, guess)
		at += 1 + len(guess)
	}
}

// fill puts into the batch the newest token of each row and the guesses behind it.
// It reports whether there are any.
func (o *owner) fill(rows []sched.Row, guesses [][]engine.Token) (guessed bool) {
	o.batch.Reset()
	for i, row := range rows {
		r := o.alive[row.ID]
		o.addRow(r.all[r.read], r.read, row.Slot)
		if guesses == nil {
			continue
		}
		for k, t := range guesses[i] {
			o.addRow(t, r.read+1+k, row.Slot)
			guessed = true
		}
	}
	return guessed
}

func (o *owner) addRow(t engine.Token, position, slot int) {
	if err := o.batch.Add(t, position, slot, true); err != nil {
		panic(fmt.Sprintf("decode rows exceed the batch sized for them: %v", err))
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
	took, err := o.compute(true)
	if err != nil {
		o.failRows([]sched.Row{{ID: c.ID, Slot: c.Slot}}, err)
		return
	}
	took += o.followPrompt(r, c.N)
	o.l.stats.prefilled(c.N, took)
	o.cache.Read(c.N, took)
	if g := o.guesser; g != nil {
		g.policy.Read(c.From, c.N, int64(took))
	}
	o.sched.Read(c.ID, c.N, int64(took))
	o.extend(r, c.N)
	if c.Stop {
		if _, err := o.cache.Checkpoint(o.now(), r.lease); err != nil {
			o.l.log.Error("checkpoint", "request_id", r.name, "error", err)
		}
	}
	if c.Last {
		if _, end := o.draw(r, c.N-1, r.read); end != nil {
			o.finish(r, *end)
		}
	}
}

// extend tells the cache what a sequence holds now.
func (o *owner) extend(r *request, n int) {
	if err := o.cache.Extend(o.now(), r.lease, r.all[r.read:r.read+n]); err != nil {
		o.l.log.Error("extend", "request_id", r.name, "error", err)
	}
	r.read += n
}

// compute calls the engine with the batch, of a prompt or of answers, when the device
// may be used.
func (o *owner) compute(prompt bool) (took time.Duration, err error) {
	o.l.stats.steps.Add(1)
	took, err = o.engage(prompt, func() error { return o.ctx.Decode(o.batch) })
	o.keepPace(took)
	return took, err
}

// engage makes calls of the engine, for a prompt or for answers, when the device may
// be used.
func (o *owner) engage(prompt bool, call func() error) (took time.Duration, err error) {
	begin := time.Now()
	if !o.left.IsZero() {
		o.l.stats.overheadNS.Add(int64(begin.Sub(o.left)))
	}
	turns := o.l.cfg.Turns
	if turns != nil {
		turns.Take(prompt)
		begin = time.Now() // the wait is neither overhead nor a cost of the call
	}
	err = call()
	o.left = time.Now()
	if turns != nil {
		turns.Give()
	}
	o.l.stats.engineCPU.Store(int64(o.ctx.CPUTime() + o.drafter.cpuTime() + o.heads.cpuTime()))
	o.stepped = o.left.Sub(begin)
	return o.stepped, err
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
			o.lose(r, err)
		}
	}
}

// lose ends a request of whose sequence it is not known what it holds.
func (o *owner) lose(r *request, err error) {
	o.discard(r)
	r.end(item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "the engine failed: %v", err)})
}

// draw draws a request's token for a position from a row and pushes it. end is how
// the request ends with it, or instead of it; nil where it goes on.
func (o *owner) draw(r *request, row, position int) (next engine.Token, end *item) {
	logits, err := o.ctx.Logits(row)
	if err == nil {
		if tap := o.l.cfg.Tap; tap != nil {
			tap(r.name, position, logits)
		}
		next, err = r.sampler.Sample(logits)
	}
	if err != nil {
		return 0, noToken(err)
	}
	if r.first.IsZero() {
		r.first = time.Now()
	}
	if !r.ignoreEOS && o.l.vocabulary.IsEOG(next) {
		return next, &item{kind: itemFinish, finish: inference.FinishStop}
	}
	d := drawn{token: next}
	if r.topLogprobs >= 0 {
		if d.logprob, err = r.sampler.Logprobs(logits, next, r.topLogprobs); err != nil {
			return 0, noToken(err)
		}
	}
	r.all = append(r.all, next)
	r.sampler.Accept(next)
	if r.stream != nil {
		r.stream.Drew(next)
	}
	o.deliver(r, d)
	if r.generated() >= r.maxTokens {
		end = &item{kind: itemFinish, finish: inference.FinishLength}
	}
	return next, end
}

// noToken ends a request for which no token could be drawn.
func noToken(err error) *item {
	return &item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "no token could be drawn: %v", err)}
}
