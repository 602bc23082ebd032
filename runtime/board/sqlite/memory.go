package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// The library panics when SQLite has no memory left. What agents send may use up
// what a connection may have, so that this is an error like others here: each call
// below has returned from SQLite when the library panics, and the connection is good.

// outOfMemory makes an error of that panic, and passes on any other.
func outOfMemory(err *error) {
	switch r := recover(); r := r.(type) {
	case nil:
	case error:
		if r.Error() != sqlite3.NOMEM.Error() {
			panic(r)
		}
		*err = sqlite3.NOMEM
	default:
		panic(r)
	}
}

// step goes to the next row.
func step(s *sqlite3.Stmt) (row bool, err error) {
	defer outOfMemory(&err)
	if s.Step() {
		return true, nil
	}
	return false, s.Err()
}

// reset readies a statement for its next run. How the last one ended, step said.
func reset(s *sqlite3.Stmt) {
	var err error
	defer outOfMemory(&err)
	_ = s.Reset()
}

// finalize lets go of a statement.
func finalize(s *sqlite3.Stmt) {
	var err error
	defer outOfMemory(&err)
	_ = s.Close()
}

// execute runs a statement that returns no rows.
func execute(s *sqlite3.Stmt) (err error) {
	defer outOfMemory(&err)
	return s.Exec()
}

// bind sets the parameters of a statement.
func bind(s *sqlite3.Stmt, args ...any) (err error) {
	defer outOfMemory(&err)
	for i, a := range args {
		switch a := a.(type) {
		case nil:
			err = s.BindNull(i + 1)
		case bool:
			err = s.BindBool(i+1, a)
		case int64:
			err = s.BindInt64(i+1, a)
		case float64:
			err = s.BindFloat(i+1, a)
		case string:
			err = s.BindText(i+1, a)
		default:
			err = fmt.Errorf("argument %d is a %T", i+1, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compile prepares a statement.
func compile(c *sqlite3.Conn, sql string) (s *sqlite3.Stmt, tail string, err error) {
	defer outOfMemory(&err)
	return c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
}
