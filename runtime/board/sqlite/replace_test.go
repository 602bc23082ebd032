package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
)

// SQLite's forms of INSERT that remove rows on their way: an announcement stays, also
// for its own writer, and a form that takes back the whole transaction takes nothing
// from others.
func TestConflictClauses(t *testing.T) {
	b := place(t).Open(t, boardtest.Options{})
	g, err := b.Join(context.Background(), board.Agent{Name: "ann", Role: board.Worker})
	if err != nil {
		t.Fatal(err)
	}
	do := func(sql string) error {
		_, err := g.Do(context.Background(), board.Statement{SQL: sql})
		return err
	}
	if err := do("insert into announce (key, body) values ('k', 'first')"); err != nil {
		t.Fatal(err)
	}
	before := string(dumpOf(t, b))
	for sql, want := range map[string]error{
		"replace into announce (key, body) values ('k', 'second')":                                         board.ErrDenied,
		"insert or replace into announce (key, body) values ('k', 'second')":                               board.ErrDenied,
		"insert or replace into announce (key, body) values ('new', 'x'), ('k', 'second')":                 board.ErrDenied,
		"insert or fail into announce (key, body) values ('new', 'x'), ('k', 'second')":                    board.ErrStatement,
		"insert or rollback into announce (key, body) values ('new', 'x'), ('k', 'second')":                board.ErrStatement,
		"insert into announce (key, body) values ('k', 'x') on conflict (agent, key) do update set id = 9": board.ErrDenied,
		"insert or ignore into announce (key, body) values ('k', 'second')":                                nil,
	} {
		if err := do(sql); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", sql, err, want)
		}
	}
	if string(dumpOf(t, b)) != before {
		t.Error("the announcement has changed")
	}
	// Many at once, so that they share transactions with those that roll back.
	done := make(chan error)
	for i := range 40 {
		go func() {
			o, err := b.Join(context.Background(), board.Agent{Name: fmt.Sprint("w", i), Role: board.Worker})
			for n := 0; n < 10 && err == nil; n++ {
				sql := "insert into notes (topic, body) values ('t', 'b')"
				if i%2 == 0 {
					sql = "insert or rollback into announce (key, body) values ('x', 'b'), ('x', 'b')"
				}
				_, err = o.Do(context.Background(), board.Statement{SQL: sql})
				if i%2 == 0 && errors.Is(err, board.ErrStatement) {
					err = nil
				}
			}
			done <- err
		}()
	}
	for range 40 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	r, err := g.Do(context.Background(), board.Statement{SQL: "select (select count(*) from notes), (select count(*) from announce)"})
	if err != nil || r.Rows[0][0] != int64(200) || r.Rows[0][1] != int64(1) {
		t.Errorf("%v, %v", r.Rows, err)
	}
}
