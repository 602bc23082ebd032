package llm

import (
	"time"

	"dure/inference"
	"dure/inference/engine"
)

// beat is how long drawn tokens may wait to be handed over together: thirty times a
// second is as often as a reader can see. Handing over wakes a chain of goroutines in
// two processes, which on a CPU costs the engine's threads their cores. Where two
// steps take longer than a beat every token goes at once.
const beat = 33 * time.Millisecond

// drawn is one token of an answer.
type drawn struct {
	token engine.Token
	// logprob is set where it was asked for, without the bytes of its tokens.
	logprob inference.TokenLogprob
}

// deliver gives a drawn token to the request's reader: at once if a beat will have
// passed since the last time by the next step, else with that. It never waits: one
// place of the outbox stays free for the last item, and when only that is left
// the sequence pauses until the reader wakes the owner.
func (o *owner) deliver(r *request, d drawn) {
	r.held = append(r.held, d)
	if due(r.delivered, o.left, o.stepped) {
		o.handOver(r)
	}
}

// due says whether what is held would wait longer than a beat, were it left for the
// next step. Nothing was delivered yet where the time of it is zero.
func due(delivered, now time.Time, step time.Duration) bool {
	return delivered.IsZero() || now.Add(step).Sub(delivered) >= beat
}

// handOver gives the reader what is held.
func (o *owner) handOver(r *request) {
	if len(r.held) == 0 {
		return
	}
	r.outbox <- item{kind: itemTokens, tokens: r.held}
	r.held, r.delivered = nil, o.left
	if len(r.outbox) < cap(r.outbox)-1 {
		return
	}
	r.stalled.Store(true)
	if len(r.outbox) < cap(r.outbox)-1 && r.stalled.CompareAndSwap(true, false) {
		return // the reader caught up between the two looks
	}
	r.blocked = true
	o.l.stats.stalls.Add(1)
	o.sched.Block(r.id, true)
}

// handOverAll leaves nothing held: what comes next may take longer than a beat.
func (o *owner) handOverAll() {
	for _, r := range o.alive {
		o.handOver(r)
	}
}

// unblock lets sequences go on whose readers took the stalled mark away.
func (o *owner) unblock() {
	for _, r := range o.alive {
		if r.blocked && !r.stalled.Load() {
			r.blocked = false
			o.sched.Block(r.id, false)
		}
	}
}
