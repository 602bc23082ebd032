package sqlite

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
	"dure/runtime/board/desk"
)

// A read that takes longer than this goes on among the slow ones: from the
// beginning, on a connection of its own, one at a time.
const readMoment = 50 * time.Millisecond

// errWrites: the statement is none that only reads.
var errWrites = errors.New("the statement writes")

// readers are the connections that read.
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
	done, err := c.read(ctx, a, st, readMoment, s.cfg.Limits)
	s.readers.free <- c
	if !errors.Is(err, errSlow) {
		return done, err
	}
	if c, err = s.readers.takeSlow(ctx, a.Name); err != nil {
		return desk.Done{}, err
	}
	defer func() { s.readers.slow <- c; s.readers.doneSlow(a.Name) }()
	done, err = c.read(ctx, a, st, s.cfg.Limits.Time, s.cfg.Limits)
	if errors.Is(err, errSlow) {
		err = errTime(s.cfg.Limits, nil)
	}
	return done, err
}

// read runs a statement for so long, and says errSlow if that is not enough.
func (c *conn) read(ctx context.Context, a board.Agent, st board.Statement, long time.Duration, l board.Limits) (desk.Done, error) {
	now := c.clock.now()
	c.clock.Context, c.clock.until = ctx, now.Add(long)
	c.caller, c.at = a, now.UTC().Format(board.TimeFormat)
	defer func() { c.clock.Context, c.clock.until = context.Background(), time.Time{} }()
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

// view runs f in a snapshot of all tables.
func (s *store) view(ctx context.Context, f func(c *conn) error) error {
	c, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	defer func() { s.readers.free <- c }()
	c.clock.Context = ctx
	defer func() { c.clock.Context = context.Background() }()
	if err := c.Exec("begin"); err != nil {
		return explain(err)
	}
	err = f(c)
	c.clock.Context = context.Background() // to end it in any case
	if e := c.Exec("rollback"); e != nil {
		err = errors.Join(err, e)
	}
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return explain(err)
}

// Announced implements desk.Backend.
func (s *store) Announced(ctx context.Context, a board.Agent, limit int) ([]board.Announcement, error) {
	var all []board.Announcement
	c, err := s.readers.take(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { s.readers.free <- c }()
	q, err := c.trusted("select id, agent, crew, at, body from announce where id > (select seen from dure_members where name = ?1)"+
		" and agent <> ?1 and (to_crew is null or to_crew = ?2) order by id limit ?3", a.Name, a.Crew, int64(limit))
	if err != nil {
		return nil, explain(err)
	}
	defer reset(q)
	row, err := step(q)
	for ; row; row, err = step(q) {
		all = append(all, board.Announcement{ID: q.ColumnInt64(0), Agent: q.ColumnText(1), Crew: q.ColumnText(2), At: q.ColumnText(3), Body: q.ColumnText(4)})
	}
	return all, explain(err)
}

// Tables implements desk.Backend.
func (s *store) Tables(context.Context) ([]board.Table, error) {
	s.readers.mu.Lock()
	defer s.readers.mu.Unlock()
	var all []board.Table
	for _, name := range slices.Sorted(maps.Keys(s.readers.schema)) {
		all = append(all, s.readers.schema[name])
	}
	return all, nil
}

// Written implements desk.Backend.
func (s *store) Written(ctx context.Context) ([]board.Count, error) {
	var all []board.Count
	err := s.view(ctx, func(c *conn) error {
		return query(c.Conn, "select agent, tbl, kind, n from dure_counts", func(q *sqlite3.Stmt) {
			u := board.Use{Agent: q.ColumnText(0), Table: q.ColumnText(1), Kind: board.Kind(q.ColumnText(2))}
			all = append(all, board.Count{Use: u, N: q.ColumnInt64(3)})
		})
	})
	return all, err
}

// Changed implements desk.Backend.
func (s *store) Changed(ctx context.Context) (map[string]uint64, error) {
	all := make(map[string]uint64)
	err := s.view(ctx, func(c *conn) error {
		return query(c.Conn, "select name, sequence from dure_tables, dure_at", func(q *sqlite3.Stmt) {
			all[q.ColumnText(0)] = uint64(q.ColumnInt64(1))
		})
	})
	return all, err
}

// Watch implements desk.Backend.
func (s *store) Watch(ctx context.Context, moved func(uint64, []string)) { s.bell.listen(ctx, moved) }

// Dump implements desk.Backend.
func (s *store) Dump(ctx context.Context, to io.Writer) error {
	return s.view(ctx, func(c *conn) error {
		tables, err := loadTables(c.Conn)
		if err != nil {
			return err
		}
		d := board.NewDumper(to)
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			if err := dumpTable(c, d, tables[name]); err != nil {
				return err
			}
		}
		var members []board.Member
		err = query(c.Conn, "select name, crew, role, seen from dure_members", func(q *sqlite3.Stmt) {
			a := board.Agent{Name: q.ColumnText(0), Crew: q.ColumnText(1), Role: board.Role(q.ColumnText(2))}
			members = append(members, board.Member{Agent: a, Seen: q.ColumnInt64(3)})
		})
		return errors.Join(err, d.End(members))
	})
}

func dumpTable(c *conn, d *board.Dumper, t *shape) error {
	if err := d.Table(t.Table); err != nil {
		return err
	}
	var bad error
	err := query(c.Conn, "select * from "+t.Name+" order by id", func(q *sqlite3.Stmt) {
		row := make([]any, len(t.cols))
		for i, col := range t.cols {
			row[i] = value(q.ColumnValue(i), col.Type)
		}
		bad = errors.Join(bad, d.Row(row))
	})
	return errors.Join(err, bad)
}
