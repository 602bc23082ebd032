package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dure/runtime/board"
	"dure/runtime/event"
)

// Bounds of what is applied in one transaction.
const (
	foldEvents = 512
	foldBytes  = 4 << 20
)

// catchUp applies what the log has and the tables lack.
func (w *writer) catchUp(ctx context.Context) error {
	last, err := w.store.cfg.Log.Last(ctx, board.Stream)
	if err != nil {
		return err
	}
	if w.at > last {
		return fmt.Errorf("%w: tables are at %d, the log ends at %d; name the log they were made from, or remove them",
			board.ErrDamaged, w.at, last)
	}
	var batch []event.Event
	bytes := 0
	for e, err := range w.store.cfg.Log.Read(ctx, board.Stream, w.at+1) {
		if err != nil {
			return err
		}
		batch, bytes = append(batch, e), bytes+len(e.Payload)
		if len(batch) >= foldEvents || bytes >= foldBytes {
			if err := w.fold(batch); err != nil {
				return err
			}
			batch, bytes = nil, 0
		}
	}
	if err := w.fold(batch); err != nil {
		return err
	}
	w.behind = false
	return nil
}

// fold applies events, in one transaction.
func (w *writer) fold(events []event.Event) error {
	if len(events) == 0 {
		return nil
	}
	f := &folding{w: w, counts: make(map[board.Use]int64), stored: make(map[string]int64)}
	last := events[len(events)-1].Sequence
	err := atomically(w.conn.Conn, func() error {
		for _, e := range events {
			if err := f.apply(e); err != nil {
				return fmt.Errorf("apply %s at %d: %w", e.Type, e.Sequence, err)
			}
		}
		return w.noteSums(f.counts, f.stored, last)
	})
	w.cap.begin(nil, nil)
	if err != nil {
		return errors.Join(err, w.load())
	}
	if err := w.load(); err != nil {
		return err
	}
	if w.store.readers != nil {
		w.store.readers.publish(maps.Clone(w.conn.guard.tables))
		w.store.bell.ring(f.news...)
	}
	return nil
}

// A folding is what one transaction of fold sums up.
type folding struct {
	w      *writer
	counts map[board.Use]int64
	stored map[string]int64
	news   []moved
}

func (f *folding) apply(e event.Event) error {
	v, err := board.Registry().Decode(e)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case board.Written:
		return f.written(e, v)
	case board.Created:
		if err := addTable(f.w.conn.Conn, v.Table); err != nil {
			return err
		}
		f.w.cap.tables[v.Table.Name] = &shape{Table: v.Table, cols: v.Table.All()}
		f.counts[board.Use{Agent: v.Agent, Table: v.Table.Name, Kind: board.Write}]++
		f.news = append(f.news, moved{uint64(e.Sequence), []string{v.Table.Name}})
		return nil
	case board.Agent:
		return f.w.enter(v)
	case board.Acknowledged:
		m, ok := f.w.members[v.Agent]
		if !ok {
			return fmt.Errorf("%w: agent %s has not joined", board.ErrDamaged, v.Agent)
		}
		m.Seen = v.Upto
		return f.w.member(m)
	}
	return fmt.Errorf("%w: it does not belong here", board.ErrDamaged)
}

func (f *folding) written(e event.Event, v board.Written) error {
	f.w.cap.begin(nil, nil)
	for _, ch := range v.Changes {
		if err := f.w.change(ch); err != nil {
			return err
		}
	}
	if v.Away != nil {
		if err := readAway(changesDir(f.w.store.cfg.Path), *v.Away, f.w.change); err != nil {
			return err
		}
		if err := run(f.w.conn.Conn, "insert into dure_files values (?)", v.Away.Name); err != nil {
			return err
		}
	}
	if f.w.cap.err != nil {
		return f.w.cap.err
	}
	for agent, n := range f.w.cap.stored {
		f.stored[agent] += n
	}
	for _, u := range v.Uses {
		f.counts[u]++
	}
	f.news = append(f.news, moved{uint64(e.Sequence), slices.Sorted(maps.Keys(f.w.cap.touched))})
	return nil
}

// change makes one change of a row again.
func (w *writer) change(ch board.Change) error {
	t := w.cap.tables[ch.Table]
	if t == nil {
		return fmt.Errorf("%w: there is no table %q", board.ErrDamaged, ch.Table)
	}
	sql, args, err := t.redo(ch)
	if err != nil {
		return err
	}
	if err := w.conn.own(sql, args...); err != nil {
		return fmt.Errorf("%s of row %d of %s: %w", ch.Op, ch.ID, ch.Table, err)
	}
	if n := w.conn.Changes(); n != 1 {
		return fmt.Errorf("%w: %s of row %d of %s changed %d rows", board.ErrDamaged, ch.Op, ch.ID, ch.Table, n)
	}
	return nil
}

// redo is the statement that makes a change. Names come from the table, never from
// the change.
func (t *shape) redo(ch board.Change) (string, []any, error) {
	var names []string
	args := []any{ch.ID}
	for _, c := range t.cols[1:] {
		if v, ok := ch.Row[c.Name]; ok {
			names = append(names, c.Name)
			args = append(args, v.V)
		}
	}
	if len(names) != len(ch.Row) {
		return "", nil, fmt.Errorf("%w: a change of %s names columns that it has not", board.ErrDamaged, t.Name)
	}
	switch ch.Op {
	case board.Insert:
		// What is not named is null, whatever the default.
		all := make([]string, len(t.cols))
		values := []any{ch.ID}
		for i, c := range t.cols {
			all[i] = "?"
			if i > 0 {
				values = append(values, ch.Row[c.Name].V)
			}
		}
		return "insert into " + t.Name + " values (" + strings.Join(all, ", ") + ")", values, nil
	case board.Update:
		if len(names) > 0 {
			return "update " + t.Name + " set " + strings.Join(names, " = ?, ") + " = ? where id = ?",
				append(args[1:], ch.ID), nil
		}
	case board.Delete:
		return "delete from " + t.Name + " where id = ?", args, nil
	}
	return "", nil, fmt.Errorf("%w: change %q of %s", board.ErrDamaged, ch.Op, t.Name)
}

// reloadTables takes up a table that was added.
func (w *writer) reloadTables() {
	if err := w.load(); err != nil {
		w.store.cfg.Logger.Error("tables cannot be read again", "error", err)
		w.behind = true
		return
	}
	w.store.readers.publish(maps.Clone(w.conn.guard.tables))
}
