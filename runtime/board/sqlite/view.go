package sqlite

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
)

// view runs f in a snapshot of all tables.
func (s *store) view(ctx context.Context, f func(c *conn) error) error {
	c, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	defer func() { s.readers.free <- c }()
	c.clock.Context = ctx
	defer c.clock.end()
	if err := c.Exec("begin"); err != nil {
		return explain(err)
	}
	err = f(c)
	c.clock.end() // so that it ends in any case
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
