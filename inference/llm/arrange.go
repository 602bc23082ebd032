package llm

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"dure/inference"
	"dure/inference/sched"
	"dure/kvcache"
	"dure/kvcache/store"
)

// ahead is how many tokens of an answer get cells at a time: few answers are as
// long as they may be, and cells that nobody fills help nobody.
const ahead = 256

// arrange brings sequences and cache to what the next step needs: requests whose
// time is up end, those that can be placed are, running ones get the cells they
// need, and what the cache wants is carried out.
func (o *owner) arrange() error {
	o.offerAtEnd()
	for _, id := range o.sched.Expired(o.now()) {
		o.expire(o.alive[id])
	}
	for {
		id, ok := o.sched.Candidate(o.now())
		if !ok {
			if id, ok = o.sched.Preempt(o.now()); !ok {
				break
			}
			o.park(o.alive[id])
		} else {
			o.place(o.alive[id])
		}
		if err := o.cache.Pump(o.now()); err != nil {
			return err
		}
	}
	o.provide()
	if err := o.cache.Pump(o.now()); err != nil {
		return err
	}
	o.begin()
	return nil
}

func (o *owner) expire(r *request) {
	o.finish(r, item{kind: itemError, err: inference.Errorf(inference.CodeDeadline,
		"the deadline of %d ms passed", r.caller.deadline.Milliseconds())})
}

// place gives a waiting request a sequence, or parks somebody for it, or leaves
// it waiting.
func (o *owner) place(r *request) {
	now := o.now()
	promised := min(ahead, o.unsaid(r))
	lease, plan, err := o.cache.Acquire(now, kvcache.Request{
		Tokens: r.all, Marks: r.caller.marks, Output: promised, Session: r.caller.session, Rank: rankOf(r.caller.priority),
	})
	switch {
	case errors.Is(err, kvcache.ErrFull):
		o.noRoom(r)
		return
	case err != nil:
		o.finish(r, item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "no place in the cache: %v", err)})
		return
	}
	r.lease, r.slot, r.promised = lease, plan.Slot, len(r.all)+promised
	if r.placed.IsZero() {
		r.placed = time.Now()
		r.reused = plan.Match
	}
	if err := o.sched.Admit(now, r.id, plan.Slot, plan.Reuse, plan.Stops); err != nil {
		o.finish(r, item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "%v", err)})
		return
	}
	o.sched.Hold(r.id, true)
	o.fetching[r.id] = r
	o.pin(r)
}

// noRoom parks somebody for a request, or lets it wait for what is being written,
// or until something ends. Where nothing runs that could end, pinned prefixes are
// given up, the oldest first; if there are none either, it never fits.
func (o *owner) noRoom(r *request) {
	victim, ok := o.sched.Full(o.now(), r.id)
	switch {
	case ok:
		o.park(o.alive[victim])
	case o.cache.Busy() || o.cache.Pending():
		o.starved = true
	case o.running() > 0: // the scheduler offers it again when one of those ends
	case o.pins.dropOldest(o.cache):
		o.l.log.Warn("a pinned prefix was given up: without it there is no room for a request", "request_id", r.name)
		o.sched.Room()
	default:
		o.finish(r, item{kind: itemError, err: inference.Errorf(inference.CodeInternal,
			"the cache has no room for %d tokens, and nothing in it can go", len(r.all))})
	}
}

// offerAgain has requests that found no room tried once more, and reports whether there
// were any.
func (o *owner) offerAgain() bool {
	if !o.starved {
		return false
	}
	o.starved = false
	o.sched.Room()
	return true
}

// offerAtEnd is offerAgain when what was under way in the cache has ended. Not only at
// rest: while others run, that may be long.
func (o *owner) offerAtEnd() bool { return !o.cache.Busy() && o.offerAgain() }

// completed passes on what the disk did, which may have made room.
func (o *owner) completed(r store.Completion) {
	o.cache.Completed(o.now(), r)
	o.offerAgain()
}

// running is how many requests have a sequence.
func (o *owner) running() (n int) {
	for _, r := range o.alive {
		if r.slot >= 0 {
			n++
		}
	}
	return n
}

// unsaid is how many tokens a request may still draw.
func (o *owner) unsaid(r *request) int { return r.maxTokens - r.generated() }

// begin lets requests be read whose sequences hold by now what is reused.
func (o *owner) begin() {
	for id, r := range o.fetching {
		plan, ready, err := o.cache.Ready(r.lease)
		switch {
		case err != nil:
			o.finish(r, item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "no place in the cache: %v", err)})
		case ready:
			delete(o.fetching, id)
			o.start(r, plan)
		}
	}
}

func (o *owner) start(r *request, plan kvcache.Plan) {
	if r.restored.IsZero() {
		r.restored, r.reused = time.Now(), plan.Match
	}
	r.read = plan.Reuse
	if plan.Reuse > 0 {
		r.loss = max(r.loss, o.cache.Loss(r.slot))
	}
	if err := o.sched.Replan(r.id, plan.Reuse, plan.Stops); err != nil {
		o.finish(r, item{kind: itemError, err: inference.Errorf(inference.CodeInternal, "%v", err)})
		return
	}
	o.sched.Hold(r.id, false)
}

// provide gets cells for answers that have used up theirs, from idle sequences
// first, then from running ones of less urgent requests. The oldest come first.
func (o *owner) provide() {
	var short []*request
	for _, r := range o.alive {
		if o.isShort(r) {
			short = append(short, r)
		}
	}
	slices.SortFunc(short, func(a, b *request) int { return cmp.Compare(a.id, b.id) })
	for _, r := range short {
		for o.isShort(r) {
			n := min(ahead, o.unsaid(r))
			if err := o.cache.Reserve(o.now(), r.lease, n); err == nil {
				r.promised += n
			} else if !o.giveWay(r.id) {
				o.park(r)
			}
		}
	}
}

// isShort reports whether a running request has filled the cells it was promised.
func (o *owner) isShort(r *request) bool {
	return r.slot >= 0 && len(r.all) >= r.promised && o.fetching[r.id] == nil && o.unsaid(r) > 0
}

// giveWay parks a running request, not except; false if there is none.
func (o *owner) giveWay(except sched.ID) bool {
	victim, ok := o.sched.Victim(o.now(), except)
	if ok {
		o.park(o.alive[victim])
	}
	return ok
}

// park makes a running request wait. Its sequence stays in the cache, until its
// place is needed.
func (o *owner) park(r *request) {
	o.cache.Release(o.now(), r.lease, kvcache.Waiting)
	if err := o.sched.Park(o.now(), r.id, r.all); err != nil {
		o.l.log.Error("park", "request_id", r.name, "error", err)
	}
	delete(o.fetching, r.id)
	r.lease, r.slot, r.read = 0, -1, 0
	o.l.stats.parked.Add(1)
}

// tidyPeriod is how often, while nothing is computed, the next thing is done that
// can wait.
const tidyPeriod = 100 * time.Millisecond

// tidy does one thing that can wait: it copies an idle state to where it outlives
// the process, and has the disk written. It reports whether there was any.
func (o *owner) tidy() bool {
	o.tidied = time.Now()
	o.cache.Balance(o.now())
	if o.l.cfg.CacheDisk.Bytes > 0 {
		for _, seq := range o.cache.Idle() {
			if o.cache.Backup(o.now(), seq) {
				break
			}
		}
	}
	return o.cache.Pending()
}

// SaveGrace is how long a model that is unloaded may take to bring its states to
// the disk.
const SaveGrace = 15 * time.Second

// save brings what idle sequences hold to the disk, as far as there is time.
func (o *owner) save() {
	if o.l.cfg.CacheDisk.Bytes <= 0 {
		return
	}
	end := time.NewTimer(SaveGrace)
	defer end.Stop()
	for begun := time.Now(); time.Since(begun) < SaveGrace && (o.tidy() || o.cache.Busy()); {
		if err := o.cache.Pump(o.now()); err != nil {
			o.l.log.Error("save states", "error", err)
			return
		}
		if !o.cache.Busy() {
			continue
		}
		select {
		case r := <-o.cache.Fetched():
			o.completed(r)
		case <-end.C:
			return
		}
	}
}
