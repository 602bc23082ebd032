// Package pool owns which models are loaded: it starts a runner when a model is
// asked for, lets concurrent callers join one load, unloads models to make room for
// others and when nobody used them for long, and starts lost ones again, with
// pauses where they fail time and again.
//
// What to do is decided by a pure policy (policy.go: events in, effects out); one
// goroutine owns it, and everyone else sends it commands and waits on replies of
// their own. It does no I/O: loads and unloads run in goroutines that it waits for
// before it ends.
//
// Invariants: a model that somebody uses is never unloaded to make room; one model
// loads at a time; whoever asks is answered, or waits for a load, for the end of
// requests that run, or for a pause after a failure.
//
// How a runner is started is given by the caller (cmd/dure), so the pool knows
// neither engine nor processes. Callers: cmd/dure and, through it, the HTTP
// surfaces.
package pool

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"dure/inference"
)

// Runner is a loaded model that can be lost.
type Runner interface {
	inference.Model
	inference.Tokenizer
	// Lost is closed when the runner can no longer answer; End then says why.
	Lost() <-chan struct{}
	End() error
	// Close unloads the model, after it has brought what it holds to where it outlives
	// the process.
	Close() error
}

// Start loads a model; made smaller so many times, where the usual load does not
// fit. It says how many bytes of memory the model takes. Cancelling ctx stops the
// load; the runner lives on. It fails with a *NoRoomError where less of what else is
// loaded could help.
type Start func(ctx context.Context, name string, shrink int) (r Runner, bytes int64, err error)

// NoRoomError says that a load does not fit beside what is loaded.
type NoRoomError struct {
	Missing int64 // bytes; 0 = not known
	Err     error
}

// Error implements error.
func (e *NoRoomError) Error() string { return e.Err.Error() }

// Unwrap is for errors.Is and errors.As.
func (e *NoRoomError) Unwrap() error { return e.Err }

// Pool is safe for concurrent use.
type Pool struct {
	start Start
	log   *slog.Logger
	inbox chan func(*owner)
	done  chan struct{}
}

// owner is the state of the goroutine that owns the pool.
type owner struct {
	pool    *Pool
	policy  *policy
	runners map[string]Runner
	replies map[askID]chan<- opened
	last    askID
	work    sync.WaitGroup  // loads, unloads and watches
	ctx     context.Context // of all loads; the pool's life, not a request's
	closing bool
	begun   time.Time
}

type opened struct {
	id     askID
	runner Runner
	err    error
}

// New makes a pool of models.
func New(rules Rules, specs []Spec, start Start, log *slog.Logger) *Pool {
	p := &Pool{start: start, log: log, inbox: make(chan func(*owner)), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	o := &owner{
		pool: p, policy: newPolicy(rules, specs), runners: map[string]Runner{}, replies: map[askID]chan<- opened{},
		ctx: ctx, begun: time.Now(),
	}
	go o.own(cancel)
	return p
}

func (o *owner) now() tick { return int64(time.Since(o.begun)) + 1 }

func (o *owner) own(cancel context.CancelFunc) {
	defer close(o.pool.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !o.closing {
		o.carryOut()
		timer.Reset(o.sleep())
		select {
		case f := <-o.pool.inbox:
			o.reap()
			f(o)
		case <-timer.C:
			o.reap()
		}
	}
	cancel()
	o.end()
}

// sleep is until time alone changes something.
func (o *owner) sleep() time.Duration {
	at := o.policy.wake()
	if at == never {
		return time.Hour
	}
	return max(time.Duration(at-o.now()), time.Millisecond)
}

// end unloads everything and answers those who wait.
func (o *owner) end() {
	for _, reply := range o.replies {
		reply <- opened{err: errClosed}
	}
	clear(o.replies)
	for name := range o.runners {
		o.unload(name)
	}
	ended := make(chan struct{})
	go func() { o.work.Wait(); close(ended) }()
	for { // loads report through the inbox
		select {
		case f := <-o.pool.inbox:
			f(o)
		case <-ended:
			return
		}
	}
}

// carryOut does what the policy wants.
func (o *owner) carryOut() {
	for {
		effects := o.policy.next(o.now())
		if len(effects) == 0 {
			return
		}
		for _, e := range effects {
			switch e.kind {
			case grant:
				o.answer(e.id, opened{id: e.id, runner: o.runners[e.name]})
			case reject:
				o.answer(e.id, opened{err: e.err})
			case start:
				o.load(e.name, e.shrink)
			case stop:
				o.pool.log.Info("unload", "model", e.name)
				o.unload(e.name)
			}
		}
	}
}

// answer never waits: each reply has room for one.
func (o *owner) answer(id askID, a opened) {
	if reply := o.replies[id]; reply != nil {
		delete(o.replies, id)
		reply <- a
	}
}

func (o *owner) load(name string, shrink int) {
	if shrink > 0 {
		o.pool.log.Warn("load is made smaller", "model", name, "times", shrink)
	}
	o.work.Go(func() {
		begin := time.Now()
		r, bytes, err := o.pool.start(o.ctx, name, shrink)
		took := time.Since(begin)
		o.pool.do(func(o *owner) { o.loaded(name, r, bytes, took, err) })
	})
}

func (o *owner) loaded(name string, r Runner, bytes int64, took time.Duration, err error) {
	var room *NoRoomError
	switch {
	case err == nil:
		o.runners[name] = r
		o.policy.loaded(o.now(), name, bytes, took)
		if o.closing {
			o.unload(name)
			return
		}
		o.watch(r)
	case errors.As(err, &room):
		o.pool.log.Info("no room", "model", name, "error", err)
		o.policy.refused(o.now(), name, room.Missing, room.Err)
	default:
		if !errors.Is(err, context.Canceled) {
			o.pool.log.Error("load", "model", name, "error", err) // a client is told the code only
		}
		o.policy.failed(o.now(), name, err)
	}
}

// watch wakes the owner when a runner is lost.
func (o *owner) watch(r Runner) {
	o.work.Go(func() {
		<-r.Lost()
		o.pool.do(func(*owner) {}) // it is reaped before
	})
}

// reap clears away runners that are lost, before anybody is sent to them.
func (o *owner) reap() {
	for name, r := range o.runners {
		if !isLost(r) || o.closing {
			continue
		}
		o.pool.log.Warn("model process lost", "model", name, "error", r.End())
		o.policy.lost(o.now(), name, r.End())
		o.unload(name)
	}
}

// unload closes a runner; it is gone from the table at once.
func (o *owner) unload(name string) {
	r := o.runners[name]
	delete(o.runners, name)
	o.work.Go(func() {
		if err := r.Close(); err != nil {
			o.pool.log.Error("unload", "model", name, "error", err)
		}
		o.pool.do(func(o *owner) { o.policy.gone(o.now(), name) })
	})
}

// do runs f on the owner; false when the pool is closed.
func (p *Pool) do(f func(*owner)) bool {
	select {
	case p.inbox <- f:
		return true
	case <-p.done:
		return false
	}
}

var errClosed = inference.Errorf(inference.CodeShuttingDown, "the server is shutting down")

// ask waits until the model may be used. Whoever gets it calls p.giveBack.
func (p *Pool) ask(ctx context.Context, name string, keep time.Duration) (opened, error) {
	reply := make(chan opened, 1) // the owner must never wait for a caller
	asked := make(chan askID, 1)
	if !p.do(func(o *owner) { o.ask(name, keep, asked, reply) }) {
		return opened{}, errClosed
	}
	id := <-asked
	select {
	case a := <-reply:
		return a, a.err
	case <-ctx.Done():
		p.giveBack(id)
		return opened{}, ctx.Err()
	}
}

func (o *owner) ask(name string, keep time.Duration, asked chan<- askID, reply chan<- opened) {
	o.last++
	asked <- o.last
	switch {
	case o.closing:
		reply <- opened{err: errClosed}
	case o.policy.by[name] == nil:
		reply <- opened{err: notFound(name, o.names())}
	default:
		o.replies[o.last] = reply
		o.policy.ask(o.now(), name, o.last, keep)
	}
}

// giveBack ends a use, or a wait for one.
func (p *Pool) giveBack(id askID) {
	p.do(func(o *owner) {
		delete(o.replies, id)
		o.policy.done(o.now(), id)
	})
}

func (o *owner) names() []string {
	var names []string
	for name := range o.policy.by {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func notFound(name string, names []string) error {
	err := inference.Errorf(inference.CodeModelNotFound, "there is no model %q; there are: %s", name, strings.Join(names, ", "))
	err.Param = "model"
	return err
}

func isLost(r Runner) bool {
	select {
	case <-r.Lost():
		return true
	default:
		return false
	}
}

// Close stops loads, unloads all models and returns when their runners are
// gone. Later calls find the pool closed.
func (p *Pool) Close() {
	p.do(func(o *owner) { o.closing = true })
	<-p.done
}
