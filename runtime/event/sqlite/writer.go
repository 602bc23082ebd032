package sqlite

import (
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/event"
	"dure/runtime/event/journal"
)

// A writer is the connection that appends.
type writer struct {
	conn                     *sqlite3.Conn
	head, last, find, insert *sqlite3.Stmt
}

func newWriter(c *sqlite3.Conn, path string, on ground) (*writer, error) {
	if _, err := inspect(c, path); err != nil {
		return nil, err
	}
	if err := setUp(c, path, on.foldPages); err != nil {
		return nil, err
	}
	if err := migrate(c, path, on.steps); err != nil {
		return nil, err
	}
	w := &writer{conn: c}
	err := prepare(c, map[string]**sqlite3.Stmt{
		"select coalesce(max(position), 0) from events":                                                                     &w.head,
		"select coalesce(max(sequence), 0) from events where stream = ?":                                                    &w.last,
		"select count(*) from events where id = ?":                                                                          &w.find,
		"insert into events (position, stream, sequence, id, type, version, time, payload, sum) values (?,?,?,?,?,?,?,?,?)": &w.insert,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return w, nil
}

func prepare(c *sqlite3.Conn, all map[string]**sqlite3.Stmt) error {
	for sql, into := range all {
		s, _, err := c.Prepare(sql)
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		*into = s
	}
	return nil
}

// setUp makes commits durable.
func setUp(c *sqlite3.Conn, path string, foldPages int) error {
	mode, err := writeAhead(c)
	// Here SQLite does not wait for others by itself: two may be opening a new file.
	for deadline := time.Now().Add(busyTimeout); errors.Is(err, sqlite3.BUSY) && time.Now().Before(deadline); {
		time.Sleep(busyPause)
		mode, err = writeAhead(c)
	}
	if err != nil {
		return fmt.Errorf("open %s: write-ahead mode: %w", path, err)
	}
	if mode != "wal" {
		return fmt.Errorf("open %s: %w: no write-ahead mode (got %s); use a disk of this machine",
			path, event.ErrNotDurable, mode)
	}
	err = c.Exec(fmt.Sprintf("pragma synchronous = full; pragma journal_size_limit = %d; pragma wal_autocheckpoint = %d",
		walLimit, foldPages))
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return nil
}

// writeAhead asks for write-ahead mode and returns the mode that there is.
func writeAhead(c *sqlite3.Conn) (string, error) {
	s, _, err := c.Prepare("pragma journal_mode = wal")
	if err != nil {
		return "", err
	}
	mode := ""
	if s.Step() {
		mode = s.ColumnText(0)
	}
	return mode, s.Close()
}

// Commit implements journal.Backend.
func (s *store) Commit(g *journal.Group) error {
	if s.readOnly {
		return event.ErrReadOnly
	}
	err := s.writer.commit(g)
	if errors.Is(err, sqlite3.BUSY) {
		return fmt.Errorf("another process has been writing to %s for %v: %w", s.path, busyTimeout, err)
	}
	return explain(err)
}

func (w *writer) commit(g *journal.Group) (err error) {
	tx, err := w.conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer func() { err = endTxn(tx, err) }()
	head, err := number(w.head)
	if err != nil {
		return err
	}
	last := make(map[string]event.Sequence)
	for _, name := range g.Streams() {
		n, err := number(w.last, name)
		if err != nil {
			return err
		}
		last[name] = event.Sequence(n)
	}
	known := make(map[event.ID]bool)
	for _, id := range g.Named() {
		n, err := number(w.find, id[:])
		if err != nil {
			return err
		}
		known[id] = n > 0
	}
	for _, e := range g.Assign(event.Position(head), last, known) {
		if err := w.write(e); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) write(e event.Event) error {
	err := bind(w.insert, int64(e.Position), e.Stream, int64(e.Sequence), e.ID[:], e.Type, int64(e.Version),
		e.Time.UnixNano(), e.Payload, int64(e.Sum()))
	if err != nil {
		return err
	}
	return w.insert.Exec()
}

// bind sets the parameters of a statement. SQLite copies them.
func bind(s *sqlite3.Stmt, args ...any) error {
	for i, a := range args {
		var err error
		switch a := a.(type) {
		case int64:
			err = s.BindInt64(i+1, a)
		case string:
			err = s.BindText(i+1, a)
		case []byte:
			err = s.BindBlob(i+1, a)
		default:
			err = fmt.Errorf("bind a %T", a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// number is the one number that a statement returns.
func number(s *sqlite3.Stmt, args ...any) (int64, error) {
	if err := bind(s, args...); err != nil {
		return 0, err
	}
	var n int64
	if s.Step() {
		n = s.ColumnInt64(0)
	}
	return n, finish(s)
}

// finish readies a statement for its next use and says whether this one failed.
// An interrupted step is not known to Reset, another failure is to both.
func finish(s *sqlite3.Stmt) error {
	err := s.Err()
	if again := s.Reset(); err == nil {
		return again
	}
	return err
}
