package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
	"dure/runtime/event"
)

// How the writer shares its time.
const (
	// A statement that takes longer than a moment is broken off, and run again by
	// itself.
	moment = 25 * time.Millisecond
	// After a statement that ran by itself, only others run for so many times as long
	// as it took, unless nobody comes for a while.
	slowPause = 9
	slowQuiet = 200 * time.Millisecond
	// Bounds of a group: statements, bytes of payload, and for how long it gathers.
	groupJobs  = 256
	groupBytes = 4 << 20
	groupTime  = 20 * time.Millisecond
	// How many wait before submit waits to get into the queue.
	queueLength = 2048
)

// A writer owns the connection that changes tables.
type writer struct {
	store *store
	conn  *conn
	cap   capture
	queue chan *job
	ended chan struct{}

	slow      []*job
	slowAfter time.Time

	at      event.Sequence // that the tables are at
	behind  bool           // the log may have more
	large   bool           // the write-ahead file may be long
	members map[string]board.Member
	stored  map[string]int64

	savepoint, release, back, commit, rollback, begin *sqlite3.Stmt
}

func newWriter(ctx context.Context, s *store) (*writer, error) {
	// Memory for what a large statement may have to take back.
	heap := s.cfg.Limits.Heap + s.cfg.Limits.Write
	c, err := dial(s.cfg.Path, s.ground.vfs, "rwc", heap, s.cfg.Limits, s.cfg.Now)
	if err != nil {
		return nil, explain(err)
	}
	w := &writer{store: s, conn: c, queue: make(chan *job, queueLength), ended: make(chan struct{})}
	err = setUp(c.Conn, s.cfg.Path, s.ground.foldPages)
	if err == nil {
		err = w.prepare()
	}
	if err == nil {
		err = w.load()
	}
	if err == nil {
		c.PreUpdateHook(w.cap.hook)
		err = w.catchUp(ctx)
	}
	if err != nil {
		return nil, errors.Join(explain(err), c.hangUp())
	}
	c.SetInterrupt(&c.clock)
	return w, nil
}

func (w *writer) prepare() error {
	for sql, into := range map[string]**sqlite3.Stmt{
		"savepoint s": &w.savepoint, "release s": &w.release, "rollback to s": &w.back,
		"begin immediate": &w.begin, "commit": &w.commit, "rollback": &w.rollback,
	} {
		s, _, err := w.conn.Prepare(sql)
		if err != nil {
			return err
		}
		*into = s
	}
	return nil
}

// load reads what the writer knows of the tables: at the start, and after something
// was taken back.
func (w *writer) load() error {
	tables, err := loadTables(w.conn.Conn)
	if err != nil {
		return err
	}
	w.cap.tables = tables
	w.conn.guard.tables = make(map[string]board.Table)
	for name, t := range tables {
		w.conn.guard.tables[name] = t.Table
	}
	w.conn.forget()
	w.members, w.stored = make(map[string]board.Member), make(map[string]int64)
	return errors.Join(
		query(w.conn.Conn, "select sequence from dure_at", func(s *sqlite3.Stmt) { w.at = event.Sequence(s.ColumnInt64(0)) }),
		query(w.conn.Conn, "select agent, bytes from dure_stored", func(s *sqlite3.Stmt) { w.stored[s.ColumnText(0)] = s.ColumnInt64(1) }),
		query(w.conn.Conn, "select name, crew, role, seen from dure_members", func(s *sqlite3.Stmt) {
			m := board.Member{Agent: board.Agent{Name: s.ColumnText(0), Crew: s.ColumnText(1), Role: board.Role(s.ColumnText(2))}, Seen: s.ColumnInt64(3)}
			w.members[m.Name] = m
		}))
}

// end finishes what is in the queue.
func (w *writer) end() {
	close(w.queue)
	<-w.ended
}

// loop runs groups until the queue is closed and empty.
func (w *writer) loop() {
	defer close(w.ended)
	for {
		j, open := w.next()
		if j != nil {
			w.group(j)
			continue
		}
		if !open {
			return
		}
	}
}

// next is the job to begin a group with. Slow ones get their turn when others had
// theirs, or nobody has come for a while.
func (w *writer) next() (*job, bool) {
	if len(w.slow) == 0 {
		j, open := <-w.queue
		return j, open
	}
	now := w.store.cfg.Now()
	quiet := min(slowQuiet, w.slowAfter.Sub(now))
	if late := now.Sub(w.slow[0].since) > w.store.cfg.Limits.Queue; quiet > 0 && !late {
		over := time.NewTimer(quiet)
		defer over.Stop()
		select {
		case j, open := <-w.queue:
			if open {
				return j, true
			}
		case <-over.C:
		}
	}
	j := w.slow[0]
	w.slow = w.slow[1:]
	return j, true
}

// poll is another job for the group that is gathered, or nil.
func (w *writer) poll() *job {
	select {
	case j := <-w.queue: // nil: closed
		return j
	default:
		return nil
	}
}
