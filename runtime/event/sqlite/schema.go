package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/event"
)

// applicationID marks a file as ours ("drev", at byte 68 of the file).
const applicationID = 0x64726576

// migrations lead from an empty file to the schema of today, one version each. One
// that was released is never changed.
var migrations = []string{`
create table events (
  position integer primary key,
  stream   text    not null,
  sequence integer not null,
  id       blob    not null,
  type     text    not null,
  version  integer not null,
  time     integer not null, -- nanoseconds since 1970
  payload  blob    not null
) strict;
create unique index events_stream on events (stream, sequence);
create unique index events_id on events (id);
`, `
alter table events add column sum integer; -- event.Sum; null: from before there were any
`}

// sumsSince is the version of the schema that has checksums.
const sumsSince = 2

// migrate brings the file to the schema of today, or refuses it. Of two processes
// that do so at once one waits for the other.
func migrate(c *sqlite3.Conn, path string, steps []string) (err error) {
	tx, err := c.BeginImmediate()
	if err != nil {
		return fmt.Errorf("schema of %s: %w", path, err)
	}
	defer func() { err = endTxn(tx, err) }()
	version, err := identify(c, path)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return &event.NewerError{Log: path, Found: version, Known: len(steps)}
	}
	for i, step := range steps[version:] {
		if err := c.Exec(step); err != nil {
			return fmt.Errorf("schema of %s: to version %d: %w", path, version+i+1, err)
		}
	}
	if version == len(steps) {
		return nil
	}
	if err := c.Exec(fmt.Sprintf("pragma application_id = %d; pragma user_version = %d", applicationID, len(steps))); err != nil {
		return fmt.Errorf("schema of %s: %w", path, err)
	}
	return nil
}

// inspect refuses a foreign file before anything is changed in it, its journal mode
// included. In a transaction: another process may be making the schema.
func inspect(c *sqlite3.Conn, path string) (version int, err error) {
	if err := c.Exec("begin"); err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	version, err = identify(c, path)
	return version, errors.Join(err, c.Exec("rollback"))
}

// identify is the schema version of a file, 0 if the file is new.
func identify(c *sqlite3.Conn, path string) (int, error) {
	var id, version, tables int
	for sql, v := range map[string]*int{
		"pragma application_id":              &id,
		"pragma user_version":                &version,
		"select count(*) from sqlite_schema": &tables,
	} {
		if err := queryInt(c, sql, v); err != nil {
			return 0, fmt.Errorf("schema of %s: %w", path, err)
		}
	}
	fresh := id == 0 && version == 0 && tables == 0
	if !fresh && (id != applicationID || version < 1) {
		return 0, fmt.Errorf("open %s: %w: its application id is %#x, its version %d; name another file",
			path, event.ErrForeign, id, version)
	}
	return version, nil
}

func queryInt(c *sqlite3.Conn, sql string, v *int) error {
	s, _, err := c.Prepare(sql)
	if err != nil {
		return err
	}
	if s.Step() {
		*v = s.ColumnInt(0)
	}
	return s.Close()
}

// endTxn commits, or takes back after an error.
func endTxn(tx sqlite3.Txn, err error) error {
	if err == nil {
		if err = tx.Commit(); err == nil {
			return nil
		}
	}
	// After some errors SQLite has rolled back by itself.
	_ = tx.Rollback()
	return err
}
