package sqlite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/event"
	"dure/runtime/event/eventtest"
)

var (
	childName = flag.String("child", "", "what TestChild does")
	childPath = flag.String("log", "", "the log of a child")
	models    = flag.Int("models", 25, "how often random calls are made")
	crashes   = flag.Int("crashes", 4, "how often a writer is killed")
	cuts      = flag.Int("cuts", 25, "how often the power is cut")
)

func openAt(t testing.TB, path string) event.Log {
	t.Helper()
	log, err := Open(context.Background(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

func place(t testing.TB) eventtest.Place {
	dir := t.TempDir()
	path := filepath.Join(dir, "events.db")
	return eventtest.Place{
		Models: *models,
		Open:   func(t testing.TB) event.Log { return openAt(t, path) },
		Table:  func(t testing.TB) eventtest.Dumper { return newTable(t, filepath.Join(t.TempDir(), "table.db")) },
	}
}

func TestSuite(t *testing.T) { eventtest.Run(t, place) }

// table is a State in tables: a row for each stream and type, and the chain.
type table struct{ conn *sqlite3.Conn }

func newTable(t testing.TB, path string) *table {
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Exec(`create table at (position integer, chain blob); insert into at values (0, zeroblob(32));
		create table tally (stream text, type text, events integer, primary key (stream, type)) without rowid`); err != nil {
		t.Fatal(err)
	}
	return &table{c}
}

func (s *table) Applied(context.Context) (event.Position, error) {
	var at int
	err := queryInt(s.conn, "select position from at", &at)
	return event.Position(at), err
}

func (s *table) Reset(context.Context) error {
	return s.conn.Exec("begin; delete from tally; update at set position = 0, chain = zeroblob(32); commit")
}

func (s *table) Apply(_ context.Context, events []event.Event) (err error) {
	tx, err := s.conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer func() { err = endTxn(tx, err) }()
	var get, set, add *sqlite3.Stmt
	if err := prepare(s.conn, map[string]**sqlite3.Stmt{
		"select chain from at":                  &get,
		"update at set position = ?, chain = ?": &set,
		"insert into tally values (?, ?, 1) on conflict do update set events = events + 1": &add,
	}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, get.Close(), set.Close(), add.Close()) }()
	var chain [32]byte
	if err := each(get, func(row *sqlite3.Stmt) bool { copy(chain[:], row.ColumnRawBlob(0)); return true }); err != nil {
		return err
	}
	for _, e := range events {
		chain = eventtest.Link(chain, e)
		if err := bind(add, e.Stream, e.Type); err != nil {
			return err
		}
		if err := add.Exec(); err != nil {
			return err
		}
	}
	if err := bind(set, int64(events[len(events)-1].Position), chain[:]); err != nil {
		return err
	}
	return set.Exec()
}

func (s *table) Dump() ([]byte, error) {
	var out []byte
	for _, sql := range []string{"select position, hex(chain) from at", "select stream, type, events from tally order by 1, 2"} {
		q, _, err := s.conn.Prepare(sql)
		if err != nil {
			return nil, err
		}
		for q.Step() {
			for i := range q.ColumnCount() {
				out = fmt.Appendf(out, "%q ", q.ColumnText(i))
			}
			out = append(out, '\n')
		}
		if err := q.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
