package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
)

const (
	applicationID = 0x64726264 // "drbd", at byte 68 of the file
	version       = 1          // of the board's own tables
)

// own is the tables that agents do not see. All are folded from the log, like the
// others.
const own = `
create table dure_at (sequence integer not null) strict; -- of the log's last event that is applied
insert into dure_at values (0);
create table dure_tables (name text primary key, spec text not null) strict, without rowid;
create table dure_members (name text primary key, crew text not null, role text not null, seen integer not null) strict, without rowid;
create table dure_counts (agent text, tbl text, kind text, n integer not null, primary key (agent, tbl, kind)) strict, without rowid;
create table dure_stored (agent text primary key, bytes integer not null) strict, without rowid;
create table dure_files (name text primary key) strict, without rowid;
`

// letGo is the name of the trigger by which a row that is opened again loses its
// holder, "" if the table has none.
func letGo(t board.Table) string {
	if !t.Holder {
		return ""
	}
	return "dure_let_go_" + t.Name
}

// ddl makes a table.
func ddl(t board.Table) []string {
	cols := t.All()
	lines := make([]string, len(cols))
	for i, c := range cols {
		lines[i] = column(c)
	}
	all := []string{fmt.Sprintf("create table %s (\n%s\n) strict", t.Name, strings.Join(lines, ",\n"))}
	for _, c := range t.Unique {
		all = append(all, fmt.Sprintf("create unique index dure_unique_%s_%s on %s (agent, %s)", t.Name, c, t.Name, c))
	}
	for _, c := range t.Index {
		all = append(all, fmt.Sprintf("create index dure_index_%s_%s on %s (%s)", t.Name, c, t.Name, c))
	}
	if t.Holder {
		all = append(all,
			fmt.Sprintf("create index dure_open_%s on %s (priority desc, id) where state = 'open'", t.Name, t.Name),
			fmt.Sprintf("create trigger %s after update of state on %s when new.state = 'open' and new.holder is not null begin "+
				"update %s set holder = null, held_at = null where id = new.id; end", letGo(t), t.Name, t.Name))
	}
	return all
}

func column(c board.Column) string {
	s := "  " + c.Name + " " + string(c.Type)
	switch c.Name {
	case board.ColID:
		return s + " primary key autoincrement"
	case board.ColAgent:
		return s + " not null default (me())"
	case board.ColCrew:
		return s + " default (my_crew())"
	case board.ColAt:
		return s + " not null default (utc())"
	}
	if c.Required {
		s += " not null"
	}
	if c.Default != nil {
		s += " default " + literal(c.Default)
	}
	if len(c.Values) > 0 {
		values := make([]string, len(c.Values))
		for i, v := range c.Values {
			values[i] = literal(v)
		}
		s += fmt.Sprintf(" check (%s in (%s))", c.Name, strings.Join(values, ", "))
	}
	if c.Earlier {
		s += fmt.Sprintf(" check (%s > 0 and %s < id)", c.Name, c.Name)
	}
	return s
}

func literal(v any) string {
	switch v := v.(type) {
	case int64:
		return "(" + strconv.FormatInt(v, 10) + ")"
	case float64:
		return "(" + strconv.FormatFloat(v, 'e', -1, 64) + ")"
	}
	return sqlite3.Quote(v)
}

// setUp makes a new file ready, or refuses one that is something else.
func setUp(c *sqlite3.Conn, path string, foldPages int) error {
	var id, found, tables int64
	for sql, v := range map[string]*int64{
		"pragma application_id":              &id,
		"pragma user_version":                &found,
		"select count(*) from sqlite_schema": &tables,
	} {
		if err := query(c, sql, func(s *sqlite3.Stmt) { *v = s.ColumnInt64(0) }); err != nil {
			return fmt.Errorf("open %s: %w", path, explain(err))
		}
	}
	fresh := id == 0 && found == 0 && tables == 0
	switch {
	case !fresh && id != applicationID:
		return fmt.Errorf("open %s: %w: it is not a board; name another file", path, board.ErrInvalid)
	case !fresh && found != version:
		return fmt.Errorf("open %s: %w: its schema is version %d, this program knows %d; remove it, it is made anew from the log",
			path, board.ErrInvalid, found, version)
	}
	mode := ""
	if err := query(c, "pragma journal_mode = wal", func(s *sqlite3.Stmt) { mode = s.ColumnText(0) }); err != nil {
		return fmt.Errorf("open %s: write-ahead mode: %w", path, explain(err))
	}
	if mode != "wal" {
		return fmt.Errorf("open %s: %w: no write-ahead mode (got %s); use a disk of this machine", path, board.ErrInvalid, mode)
	}
	// What was not flushed is in the log; that the file stays in order is enough.
	err := c.Exec(fmt.Sprintf("pragma synchronous = normal; pragma journal_size_limit = %d; pragma wal_autocheckpoint = %d", walLimit, foldPages))
	if err != nil || !fresh {
		return err
	}
	return atomically(c, func() error {
		if err := c.Exec(own); err != nil {
			return err
		}
		for _, t := range board.Standard() {
			if err := addTable(c, t); err != nil {
				return err
			}
		}
		return c.Exec(fmt.Sprintf("pragma application_id = %d; pragma user_version = %d", applicationID, version))
	})
}

// atomically runs f in a transaction.
func atomically(c *sqlite3.Conn, f func() error) error {
	if err := c.Exec("begin immediate"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		if err = c.Exec("commit"); err == nil {
			return nil
		}
	}
	if !c.GetAutocommit() {
		err = errors.Join(err, c.Exec("rollback"))
	}
	return err
}

func addTable(c *sqlite3.Conn, t board.Table) error {
	for _, sql := range ddl(t) {
		if err := c.Exec(sql); err != nil {
			return fmt.Errorf("create table %s: %w", t.Name, err)
		}
	}
	spec, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return run(c, "insert into dure_tables values (?, ?)", t.Name, string(spec))
}

// loadTables reads what tables there are.
func loadTables(c *sqlite3.Conn) (map[string]*shape, error) {
	all := make(map[string]*shape)
	var bad error
	err := query(c, "select spec from dure_tables", func(s *sqlite3.Stmt) {
		var t board.Table
		if err := json.Unmarshal(s.ColumnRawText(0), &t); err != nil {
			bad = err
			return
		}
		all[t.Name] = &shape{Table: t, cols: t.All()}
	})
	if err := errors.Join(err, bad); err != nil {
		return nil, err
	}
	return all, loadLast(c, all)
}

// loadLast reads the largest id that each table ever gave.
func loadLast(c *sqlite3.Conn, all map[string]*shape) error {
	for _, t := range all {
		t.last = 0
	}
	return query(c, "select name, seq from sqlite_sequence", func(s *sqlite3.Stmt) {
		if t := all[s.ColumnText(0)]; t != nil {
			t.last = s.ColumnInt64(1)
		}
	})
}

// query calls f for each row.
func query(c *sqlite3.Conn, sql string, f func(*sqlite3.Stmt), args ...any) error {
	s, _, err := compile(c, sql)
	if err != nil {
		return err
	}
	defer finalize(s)
	if err := bind(s, args...); err != nil {
		return err
	}
	more, err := step(s)
	for ; more; more, err = step(s) {
		f(s)
	}
	return err
}

func run(c *sqlite3.Conn, sql string, args ...any) error {
	return query(c, sql, func(*sqlite3.Stmt) {}, args...)
}
