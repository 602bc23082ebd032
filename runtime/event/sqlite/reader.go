package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/event"
	"dure/runtime/event/journal"
)

// A reader is a connection that reads.
type reader struct {
	conn                             *sqlite3.Conn
	head, last, touched, all, stream *sqlite3.Stmt
}

// columns reads events; of a file from before there were checksums, that is only read,
// without one.
func columns(version int) string {
	sum := "sum"
	if version < sumsSince {
		sum = "null"
	}
	return "select position, stream, sequence, id, type, version, time, payload, " + sum + " from events "
}

func (s *store) newReader() (*reader, error) {
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	r := &reader{conn: c}
	if err := errors.Join(c.Exec("pragma query_only = on"), r.prepare(columns(s.version))); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.path, errors.Join(err, hangUp(c)))
	}
	return r, nil
}

func (r *reader) prepare(columns string) error {
	return prepare(r.conn, map[string]**sqlite3.Stmt{
		"select coalesce(max(position), 0) from events":                                     &r.head,
		"select coalesce(max(sequence), 0) from events where stream = ?":                    &r.last,
		"select distinct stream from events where position between ? and ? limit ?":         &r.touched,
		columns + "where position between ? and ? order by position limit ?":                &r.all,
		columns + "where stream = ? and sequence between ? and ? order by sequence limit ?": &r.stream,
	})
}

// borrow runs f with a connection that is free, until ctx ends.
func (s *store) borrow(ctx context.Context, f func(*reader) error) error {
	r, err := s.free(ctx)
	if err != nil {
		return err
	}
	defer func() { s.readers <- r }()
	r.conn.SetInterrupt(ctx)
	defer r.conn.SetInterrupt(context.Background())
	err = f(r)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", s.path, explain(err))
	}
	return nil
}

// free takes a connection that is free, and opens another one only if none is.
func (s *store) free(ctx context.Context) (*reader, error) {
	select {
	case r := <-s.readers:
		return r, nil
	default:
	}
	select {
	case r := <-s.readers:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.unopened:
	}
	r, err := s.newReader()
	if err != nil {
		s.unopened <- struct{}{}
		return nil, explain(err)
	}
	return r, nil
}

// Head implements journal.Backend.
func (s *store) Head(ctx context.Context) (event.Position, error) {
	var n int64
	err := s.borrow(ctx, func(r *reader) (err error) {
		n, err = number(r.head)
		return err
	})
	return event.Position(n), err
}

// Last implements journal.Backend.
func (s *store) Last(ctx context.Context, stream string) (event.Sequence, error) {
	var n int64
	err := s.borrow(ctx, func(r *reader) (err error) {
		n, err = number(r.last, stream)
		return err
	})
	return event.Sequence(n), err
}

// Touched implements journal.Backend.
func (s *store) Touched(ctx context.Context, after, upto event.Position, limit int) ([]string, error) {
	var names []string
	err := s.borrow(ctx, func(r *reader) error {
		return each(r.touched, func(q *sqlite3.Stmt) bool {
			names = append(names, q.ColumnText(0))
			return true
		}, int64(after)+1, int64(upto), int64(limit))
	})
	return names, err
}

// Page implements journal.Backend.
func (s *store) Page(ctx context.Context, q journal.Query) ([]event.Event, error) {
	var page []event.Event
	var damaged error
	bytes := 0
	take := func(row *sqlite3.Stmt) bool {
		e := scan(row)
		if row.ColumnType(8) != sqlite3.NULL && uint32(row.ColumnInt64(8)) != e.Sum() {
			damaged = e.Damaged()
			return false
		}
		page = append(page, e)
		bytes += len(e.Payload)
		return bytes < journal.PageBytes
	}
	err := s.borrow(ctx, func(r *reader) error {
		if q.Stream == "" {
			return each(r.all, take, int64(q.From), int64(q.To), int64(journal.PageEvents))
		}
		return each(r.stream, take, q.Stream, int64(q.From), int64(q.To), int64(journal.PageEvents))
	})
	if err == nil && damaged != nil && len(page) == 0 { // those before it are good
		err = fmt.Errorf("read %s: %w", s.path, damaged)
	}
	return page, err
}

func scan(row *sqlite3.Stmt) event.Event {
	e := event.Event{
		Position: event.Position(row.ColumnInt64(0)),
		Stream:   row.ColumnText(1),
		Sequence: event.Sequence(row.ColumnInt64(2)),
		Type:     row.ColumnText(4),
		Version:  row.ColumnInt(5),
		Time:     time.Unix(0, row.ColumnInt64(6)).UTC(),
		Payload:  row.ColumnBlob(7, nil),
	}
	copy(e.ID[:], row.ColumnRawBlob(3))
	return e
}

// each runs a query and ends it, so that its snapshot is let go, also when f has
// had enough.
func each(s *sqlite3.Stmt, f func(*sqlite3.Stmt) bool, args ...any) error {
	if err := bind(s, args...); err != nil {
		return err
	}
	for s.Step() {
		if !f(s) {
			break
		}
	}
	return finish(s)
}

// Watch implements journal.Backend. SQLite has no call that waits for another
// process; a look is one read of a counter in shared memory.
func (s *store) Watch(ctx context.Context, waiting func() bool, moved func()) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var seen int
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !waiting() {
			continue
		}
		// A look that fails says nothing; the next one is near. A follower that reads
		// gets the error itself.
		var now int
		if err := queryInt(s.watcher, "pragma data_version", &now); err == nil && now != seen {
			seen = now
			moved()
		}
	}
}
