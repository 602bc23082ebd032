package postgres

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dure/runtime/board"
	"dure/runtime/event"
)

// Tables implements desk.Backend.
func (s *store) Tables(context.Context) ([]board.Table, error) {
	shapes := s.shapes()
	var all []board.Table
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		all = append(all, shapes[name].Table)
	}
	return all, nil
}

// Written implements desk.Backend.
func (s *store) Written(ctx context.Context) ([]board.Count, error) {
	rows, err := s.owner.Query(ctx, "select agent, name, kind, n from dure_board.uses")
	if err != nil {
		return nil, explain(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (board.Count, error) {
		var c board.Count
		err := row.Scan(&c.Agent, &c.Table, (*string)(&c.Kind), &c.N)
		return c, err
	})
	return all, explain(err)
}

// Changed implements desk.Backend.
func (s *store) Changed(ctx context.Context) (map[string]uint64, error) {
	rows, err := s.owner.Query(ctx, "select name, changed from dure_board.tables")
	if err != nil {
		return nil, explain(err)
	}
	all := make(map[string]uint64)
	var name string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		all[name] = uint64(n)
		return nil
	})
	return all, explain(err)
}

// Watch implements desk.Backend: the log tells of this process's changes and of
// others' alike.
func (s *store) Watch(ctx context.Context, moved func(number uint64, tables []string)) {
	const pause = time.Second
	from := s.at + 1
	for ctx.Err() == nil {
		for e, err := range s.cfg.Log.Follow(ctx, board.Stream, from) {
			if err == nil {
				err = s.tell(ctx, e, moved)
			}
			if err != nil {
				if ctx.Err() == nil {
					s.cfg.Logger.Warn("board does not hear of changes and follows its log again", "error", err)
				}
				break
			}
			from = e.Sequence + 1
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (s *store) tell(ctx context.Context, e event.Event, moved func(uint64, []string)) error {
	switch e.Type {
	case board.CreatedType.Name():
		c, err := board.CreatedType.Decode(e)
		if err != nil {
			return err
		}
		if err := s.reload(ctx); err != nil { // another process may have made it
			return err
		}
		moved(uint64(e.Sequence), []string{c.Table.Name})
	case board.WrittenType.Name():
		w, err := board.WrittenType.Decode(e)
		if err != nil {
			return err
		}
		var tables []string
		for _, u := range w.Uses {
			if u.Kind == board.Write {
				tables = append(tables, u.Table)
			}
		}
		moved(uint64(e.Sequence), tables)
	}
	return nil
}

// Dump implements desk.Backend.
func (s *store) Dump(ctx context.Context, to io.Writer) error {
	err := pgx.BeginTxFunc(ctx, s.owner, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		tables, err := loadTables(ctx, tx)
		if err != nil {
			return err
		}
		d := board.NewDumper(to)
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			if err := dumpTable(ctx, tx, d, tables[name]); err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
		}
		rows, err := tx.Query(ctx, "select name, crew, role, seen from dure_board.members")
		if err != nil {
			return err
		}
		members, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (board.Member, error) {
			var m board.Member
			err := row.Scan(&m.Name, &m.Crew, (*string)(&m.Role), &m.Seen)
			return m, err
		})
		if err != nil {
			return err
		}
		return d.End(members)
	})
	return explain(err)
}

func dumpTable(ctx context.Context, tx pgx.Tx, d *board.Dumper, t *shape) error {
	if err := d.Table(t.Table); err != nil {
		return err
	}
	names := make([]string, len(t.cols))
	for i, c := range t.cols {
		names[i] = c.Name
	}
	rows, err := tx.Query(ctx, "select "+strings.Join(names, ", ")+" from board."+t.Name+" order by id")
	if err != nil {
		return err
	}
	for rows.Next() {
		values, err := rows.Values() // int64, float64, string or nil, by the types of columns
		if err != nil {
			return err
		}
		if err := d.Row(values); err != nil {
			rows.Close()
			return err
		}
	}
	return rows.Err()
}
