package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
)

// A conn is a connection that agents' statements run on, one at a time.
type conn struct {
	*sqlite3.Conn
	guard   guard
	clock   clock
	caller  board.Agent // of the statement that runs
	at      string      // its time
	maxText int         // bytes of a value
	cache   map[string]*prepared
	mine    map[string]*sqlite3.Stmt // the board's own statements
	version int                      // of the schema, of a connection that reads
}

// prepared is a statement that has passed the guard. Whether it may run also
// depends on who calls.
type prepared struct {
	*sqlite3.Stmt
	plan *plan
}

// Bounds of what a connection keeps prepared.
const (
	cacheStatements = 200
	cacheBytes      = 2000 // of a statement
)

// dial opens a connection with all limits on.
func dial(path, vfs, mode string, heap int64, l board.Limits, now func() time.Time) (*conn, error) {
	q := url.Values{"modeof": {path}, "mode": {mode}}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: strings.ReplaceAll(q.Encode(), "+", "%20")}
	// What SQLite itself needs comes on top of what statements may use.
	raw, err := sqlite3.OpenContext(sqlite3.WithMaxMemory(context.Background(), heap+32<<20), name.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	c := &conn{Conn: raw, cache: make(map[string]*prepared), mine: make(map[string]*sqlite3.Stmt), maxText: l.Value}
	c.clock = clock{Context: context.Background(), now: now}
	err = errors.Join(c.BusyTimeout(10*time.Second), c.functions(), c.confine(heap, l))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(err, c.hangUp()))
	}
	return c, nil
}

// confine sets what SQLite bounds by itself.
func (c *conn) confine(heap int64, l board.Limits) error {
	// Space for sorting and intermediate results counts against the heap too.
	if err := c.Exec("pragma temp_store = memory; pragma cell_size_check = on"); err != nil {
		return err
	}
	for id, n := range map[sqlite3.LimitCategory]int{
		sqlite3.LIMIT_LENGTH:              l.Value,
		sqlite3.LIMIT_SQL_LENGTH:          l.Statement,
		sqlite3.LIMIT_COLUMN:              200,
		sqlite3.LIMIT_EXPR_DEPTH:          100,
		sqlite3.LIMIT_COMPOUND_SELECT:     100,
		sqlite3.LIMIT_VDBE_OP:             200_000,
		sqlite3.LIMIT_FUNCTION_ARG:        50,
		sqlite3.LIMIT_ATTACHED:            0,
		sqlite3.LIMIT_LIKE_PATTERN_LENGTH: maxPattern,
		sqlite3.LIMIT_VARIABLE_NUMBER:     1000,
		sqlite3.LIMIT_TRIGGER_DEPTH:       4,
		sqlite3.LIMIT_WORKER_THREADS:      0,
	} {
		c.Limit(id, n)
	}
	c.HardHeapLimit(heap)
	return c.SetAuthorizer(c.guard.authorize)
}

// prepare readies an agent's statement under the guard. There is one statement in
// a text, and nothing behind it.
func (c *conn) prepare(sql string) (*prepared, error) {
	if p := c.cache[sql]; p != nil {
		return p, nil
	}
	p := &plan{reads: make(map[string]bool), writes: make(map[string]bool)}
	c.guard.plan = p
	stmt, tail, err := compile(c.Conn, sql)
	c.guard.plan = nil
	switch {
	case p.denied != "":
		err = board.Refuse(board.ErrDenied, p.tables(), "%s", p.denied)
	case err != nil:
		err = c.reason(err, p)
	case stmt == nil:
		err = board.Refuse(board.ErrStatement, nil, "there is no statement in it")
	case !board.Blank(tail):
		err = board.Refuse(board.ErrDenied, p.tables(), "one statement a call; there is more after the first")
	}
	if err != nil {
		if stmt != nil {
			finalize(stmt)
		}
		return nil, err
	}
	return &prepared{stmt, p}, nil
}

// done readies a statement for its next use, or lets it go.
func (c *conn) done(p *prepared) error {
	sql := p.SQL()
	if c.cache[sql] != p && len(sql) > cacheBytes {
		finalize(p.Stmt)
		return nil
	}
	reset(p.Stmt)
	if c.cache[sql] == nil && len(c.cache) >= cacheStatements {
		for old := range c.cache { // any
			finalize(c.cache[old].Stmt)
			delete(c.cache, old)
			break
		}
	}
	c.cache[sql] = p
	return p.ClearBindings()
}

// trusted is one of the board's own statements, ready to step.
func (c *conn) trusted(sql string, args ...any) (*sqlite3.Stmt, error) {
	s := c.mine[sql]
	if s == nil {
		var err error
		if s, _, err = compile(c.Conn, sql); err != nil {
			return nil, err
		}
		c.mine[sql] = s
	}
	return s, bind(s, args...)
}

// own runs one of the board's own statements that returns no rows.
func (c *conn) own(sql string, args ...any) error {
	s, err := c.trusted(sql, args...)
	if err != nil {
		return err
	}
	return execute(s)
}

// forget lets go of all prepared statements of agents: the schema has changed.
func (c *conn) forget() {
	for sql, p := range c.cache {
		delete(c.cache, sql)
		finalize(p.Stmt)
	}
}

func (c *conn) hangUp() error {
	for _, s := range slices.Collect(c.Stmts()) {
		finalize(s)
	}
	return c.Close()
}

// A clock ends statements. SQLite asks it every 1,000 steps, which takes no timer
// and lets tests have their own time.
type clock struct {
	context.Context // the caller's
	now             func() time.Time
	until           time.Time // zero: never
	brief           bool      // until is a moment's end: the statement is run again by itself
	asked           int
	stop            func() bool
}

// A statement is slow when its moment is over and it has done some work in it: where
// the machine is busy with other things, short statements take long too, and are
// not to wait for those that are slow. After so many moments it is slow in any case.
const (
	slowAsked   = 100 // times
	slowMoments = 10
)

// Err implements context.Context.
func (c *clock) Err() error {
	c.asked++
	switch {
	case c.over():
		return context.DeadlineExceeded
	case c.stop != nil && c.stop():
		return context.Canceled
	}
	return c.Context.Err()
}

func (c *clock) over() bool {
	if c.until.IsZero() {
		return false
	}
	late := c.now().Sub(c.until)
	return late >= 0 && (!c.brief || c.asked >= slowAsked || late >= (slowMoments-1)*moment)
}

// run begins a statement that may take so long; brief says that it is a moment.
func (c *clock) run(ctx context.Context, long time.Duration, brief bool, stop func() bool) {
	*c = clock{Context: ctx, now: c.now, until: c.now().Add(long), brief: brief, stop: stop}
}

// end lets the board's own statements take as long as they do.
func (c *clock) end() { *c = clock{Context: context.Background(), now: c.now} }

// reason makes a board.Refusal of what SQLite says of an agent's statement.
func (c *conn) reason(err error, p *plan) error {
	var tables []string
	if p != nil {
		tables = p.tables()
	}
	switch {
	case errors.Is(err, sqlite3.AUTH):
		return board.Refuse(board.ErrDenied, tables, "%s", message(err))
	case errors.Is(err, sqlite3.TOOBIG):
		return board.Refuse(board.ErrTooLarge, tables, "a value may have %d bytes", c.maxText)
	case errors.Is(err, sqlite3.NOMEM):
		return errMemory(tables)
	case errors.Is(err, sqlite3.ERROR), errors.Is(err, sqlite3.CONSTRAINT), errors.Is(err, sqlite3.MISMATCH),
		errors.Is(err, sqlite3.RANGE):
		return board.Refuse(board.ErrStatement, tables, "%s", message(err))
	}
	return explain(err)
}

func message(err error) string {
	text := strings.TrimPrefix(err.Error(), "sqlite3: ")
	return strings.TrimPrefix(text, "SQL logic error: ")
}

func errMemory(tables []string) error {
	return board.Refuse(board.ErrTooLarge, tables, "the statement needs more memory than it may have; work on fewer rows at once")
}
