package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
	"dure/runtime/board/desk"
)

// errWrites: the statement is none that only reads.
var errWrites = errors.New("the statement writes")

// readers are the connections that read. A read that takes longer than a moment goes
// on among the slow ones: from the beginning, on a connection of its own, one at a
// time.
type readers struct {
	store    *store
	free     chan *conn
	unopened chan struct{}
	slow     chan *conn // the one of slow reads; nil when it is not open yet

	mu      sync.Mutex
	schema  map[string]board.Table
	version int             // of the schema
	waiting map[string]bool // agents that have a slow read
}

func newReaders(s *store) *readers {
	n := s.cfg.Limits.Connections
	r := &readers{store: s, free: make(chan *conn, n), unopened: make(chan struct{}, n), slow: make(chan *conn, 1),
		waiting: make(map[string]bool)}
	for range n {
		r.unopened <- struct{}{}
	}
	r.slow <- nil
	r.publish(s.writer.conn.guard.tables)
	return r
}

// publish makes tables known to all who read.
func (r *readers) publish(tables map[string]board.Table) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.schema = tables
	r.version++
}

func (r *readers) dial() (*conn, error) {
	l := r.store.cfg.Limits
	c, err := dial(r.store.cfg.Path, r.store.ground.vfs, "ro", l.Heap, l, r.store.cfg.Now)
	if err != nil {
		return nil, err
	}
	c.SetInterrupt(&c.clock)
	return c, nil
}

// take waits for a free connection as long as the queue may be.
func (r *readers) take(ctx context.Context) (*conn, error) {
	select {
	case c := <-r.free:
		return r.refresh(c), nil
	default:
	}
	full := time.NewTimer(r.store.cfg.Limits.Queue)
	defer full.Stop()
	select {
	case c := <-r.free:
		return r.refresh(c), nil
	case <-r.unopened:
		c, err := r.dial()
		if err != nil {
			r.unopened <- struct{}{}
			return nil, explain(err)
		}
		return r.refresh(c), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-full.C:
		return nil, errBusy(r.store.cfg.Limits)
	}
}

// refresh gives a connection the tables of now.
func (r *readers) refresh(c *conn) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.version != r.version {
		c.forget()
		c.guard.tables, c.version = r.schema, r.version
	}
	return c
}

// takeSlow waits for the connection of slow reads. Each agent has one turn.
func (r *readers) takeSlow(ctx context.Context, agent string) (*conn, error) {
	r.mu.Lock()
	if r.waiting[agent] {
		r.mu.Unlock()
		return nil, board.Refuse(board.ErrBusy, nil, "another slow statement of yours runs already")
	}
	r.waiting[agent] = true
	r.mu.Unlock()
	full := time.NewTimer(r.store.cfg.Limits.Queue)
	defer full.Stop()
	var c *conn
	err := errBusy(r.store.cfg.Limits)
	select {
	case c = <-r.slow:
		err = nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-full.C:
	}
	if err == nil && c == nil {
		if c, err = r.dial(); err != nil {
			r.slow <- nil
			err = explain(err)
		}
	}
	if err != nil {
		r.doneSlow(agent)
		return nil, err
	}
	return r.refresh(c), nil
}

func (r *readers) doneSlow(agent string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, agent)
}

func (r *readers) close() error {
	var errs []error
	close(r.free)
	for c := range r.free {
		errs = append(errs, c.hangUp())
	}
	if c := <-r.slow; c != nil {
		errs = append(errs, c.hangUp())
	}
	return errors.Join(errs...)
}

// read runs a statement that only reads. One that does not is errWrites.
func (s *store) read(ctx context.Context, a board.Agent, st board.Statement) (desk.Done, error) {
	c, err := s.readers.take(ctx)
	if err != nil {
		return desk.Done{}, err
	}
	done, err := c.read(ctx, a, st, true, s.cfg.Limits)
	s.readers.free <- c
	if !errors.Is(err, errSlow) {
		return done, err
	}
	if c, err = s.readers.takeSlow(ctx, a.Name); err != nil {
		return desk.Done{}, err
	}
	defer func() { s.readers.slow <- c; s.readers.doneSlow(a.Name) }()
	done, err = c.read(ctx, a, st, false, s.cfg.Limits)
	if errors.Is(err, errSlow) {
		err = errTime(s.cfg.Limits, nil)
	}
	return done, err
}

// read runs a statement for a moment or its full time, and says errSlow if that is
// not enough.
func (c *conn) read(ctx context.Context, a board.Agent, st board.Statement, brief bool, l board.Limits) (desk.Done, error) {
	long := l.Time
	if brief {
		long = moment
	}
	c.clock.run(ctx, long, brief, nil)
	defer c.clock.end()
	c.caller, c.at = a, c.clock.now().UTC().Format(board.TimeFormat)
	done, err := c.readOne(a, st, l)
	if errors.Is(err, sqlite3.INTERRUPT) {
		if e := ctx.Err(); e != nil {
			return desk.Done{}, e
		}
		return desk.Done{}, errSlow
	}
	return done, err
}

func (c *conn) readOne(a board.Agent, st board.Statement, l board.Limits) (desk.Done, error) {
	p, err := c.prepare(st.SQL)
	if err != nil {
		return desk.Done{}, err
	}
	if !p.ReadOnly() {
		return desk.Done{}, errors.Join(errWrites, c.done(p))
	}
	res, err := c.rows(p, st.Args, l)
	err = errors.Join(err, c.done(p))
	if err != nil {
		return desk.Done{}, err
	}
	return desk.Done{Result: res, Uses: p.plan.uses(a.Name)}, nil
}
