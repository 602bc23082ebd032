// Package pool owns which models are loaded: it starts a runner when a model is
// first asked for, lets concurrent callers join one load, and forgets a runner
// that died so that the next request starts another.
//
// One goroutine owns the table of models; everyone else sends it commands and
// waits on replies of their own. It does no I/O: loads run in goroutines that
// it waits for before it ends. A loaded model stays until the pool is closed.
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

	"dure/inference"
)

// Runner is a loaded model that can be lost.
type Runner interface {
	inference.Model
	inference.Tokenizer
	// Lost is closed when the runner can no longer answer.
	Lost() <-chan struct{}
	Close() error
}

// Start loads a model. Cancelling ctx stops the load; the runner lives on.
type Start func(ctx context.Context, name string) (Runner, error)

// Pool is safe for concurrent use.
type Pool struct {
	start Start
	log   *slog.Logger
	inbox chan func(*table)
	done  chan struct{}
}

// table is the owner's state.
type table struct {
	models  map[string]*entry
	loads   sync.WaitGroup
	ctx     context.Context // of all loads; the pool's life, not a request's
	closing bool
}

type entry struct {
	runner  Runner // nil while it loads
	waiters []chan<- opened
}

type opened struct {
	runner Runner
	err    error
}

// New makes a pool for the named models.
func New(names []string, start Start, log *slog.Logger) *Pool {
	p := &Pool{start: start, log: log, inbox: make(chan func(*table)), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	t := &table{models: map[string]*entry{}, ctx: ctx}
	for _, name := range names {
		t.models[name] = nil
	}
	go p.own(t, cancel)
	return p
}

func (p *Pool) own(t *table, cancel context.CancelFunc) {
	defer close(p.done)
	for !t.closing {
		(<-p.inbox)(t)
	}
	cancel()
	ended := make(chan struct{})
	go func() { t.loads.Wait(); close(ended) }()
	for waiting := true; waiting; { // loads report through the inbox
		select {
		case f := <-p.inbox:
			f(t)
		case <-ended:
			waiting = false
		}
	}
	p.closeRunners(t)
}

func (p *Pool) closeRunners(t *table) {
	var all sync.WaitGroup
	for name, e := range t.models {
		if e == nil || e.runner == nil {
			continue
		}
		all.Go(func() {
			if err := e.runner.Close(); err != nil {
				p.log.Error("unload", "model", name, "error", err)
			}
		})
	}
	all.Wait()
}

// do runs f on the owner; false when the pool is closed.
func (p *Pool) do(f func(*table)) bool {
	select {
	case p.inbox <- f:
		return true
	case <-p.done:
		return false
	}
}

var errClosed = inference.Errorf(inference.CodeShuttingDown, "the server is shutting down")

// Open returns the named model, loading it first if need be. Callers that ask
// while it loads join the same load. The returned model survives the loss of
// its process: a request that had no answer yet is tried once more on a fresh
// one. release gives the model back.
func (p *Pool) Open(ctx context.Context, name string) (m inference.Model, release func(), err error) {
	r, err := p.acquire(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return &handle{pool: p, name: name, info: r.Info()}, func() {}, nil
}

func (p *Pool) acquire(ctx context.Context, name string) (Runner, error) {
	reply := make(chan opened, 1) // the owner must never wait for a caller
	if !p.do(func(t *table) { p.ask(t, name, reply) }) {
		return nil, errClosed
	}
	select {
	case o := <-reply:
		return o.runner, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ask answers at once or registers the caller with a load.
func (p *Pool) ask(t *table, name string, reply chan<- opened) {
	e, known := t.models[name]
	switch {
	case t.closing:
		reply <- opened{err: errClosed}
	case !known:
		reply <- opened{err: notFound(name, t.names())}
	case e != nil && e.runner != nil && !isLost(e.runner):
		reply <- opened{runner: e.runner}
	case e != nil && e.runner == nil:
		e.waiters = append(e.waiters, reply)
	default: // never loaded, or lost
		if e != nil {
			p.log.Warn("model process lost, starting a new one", "model", name)
			old := e.runner
			t.loads.Go(func() { old.Close() })
		}
		t.models[name] = &entry{waiters: []chan<- opened{reply}}
		t.loads.Go(func() { p.load(t.ctx, name) })
	}
}

func (p *Pool) load(ctx context.Context, name string) {
	r, err := p.start(ctx, name)
	p.do(func(t *table) {
		e := t.models[name]
		for _, w := range e.waiters {
			w <- opened{r, err}
		}
		e.runner, e.waiters = r, nil
		if err != nil {
			t.models[name] = nil // the next request tries again
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			p.log.Error("load", "model", name, "error", err) // a client is told the code only
		}
	})
}

func isLost(r Runner) bool {
	select {
	case <-r.Lost():
		return true
	default:
		return false
	}
}

func (t *table) names() []string {
	var names []string
	for name := range t.models {
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

// Loaded returns the runners that are alive now, by name.
func (p *Pool) Loaded() map[string]Runner {
	loaded := make(chan map[string]Runner, 1)
	if !p.do(func(t *table) {
		m := map[string]Runner{}
		for name, e := range t.models {
			if e != nil && e.runner != nil && !isLost(e.runner) {
				m[name] = e.runner
			}
		}
		loaded <- m
	}) {
		return nil
	}
	return <-loaded
}

// Close stops loads, unloads all models and returns when their runners are
// gone. Later calls find the pool closed.
func (p *Pool) Close() {
	p.do(func(t *table) { t.closing = true })
	<-p.done
}
