package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
	"dure/runtime/board/desk"
	"dure/runtime/event"
)

// verbs are how a statement of an agent may begin, and whether it is tried on the
// connection that writes first. The guard decides; this keeps out what SQLite has no
// question for, such as VACUUM.
var verbs = map[string]bool{
	"select": false, "values": false, "with": false,
	"insert": true, "update": true, "delete": true, "replace": true,
}

// Run implements desk.Backend.
func (s *store) Run(ctx context.Context, a board.Agent, st board.Statement) (desk.Done, error) {
	if board.Blank(st.SQL) {
		return desk.Done{}, board.Refuse(board.ErrStatement, nil, "there is no statement in it")
	}
	first := board.First(st.SQL)
	writes, ok := verbs[first]
	if !ok {
		return desk.Done{}, board.Refuse(board.ErrDenied, nil, "%q does not begin a statement for agents; they select, insert, update and delete rows", first)
	}
	if !writes {
		done, err := s.read(ctx, a, st)
		if !errors.Is(err, errWrites) {
			return done, err
		}
	}
	return s.submit(ctx, a, st.ID, false, func(w *writer, j *job) error { return w.statement(j, st) })
}

// statement runs an agent's statement and makes its event.
func (w *writer) statement(j *job, st board.Statement) error {
	p, err := w.conn.prepare(st.SQL)
	if err != nil {
		return w.broken(j, err)
	}
	if t, ok := w.cap.tables[p.plan.insert]; ok && len(t.Writers) > 0 && !slices.Contains(t.Writers, j.agent.Role) {
		err = board.Refuse(board.ErrDenied, p.plan.tables(), "%s: only %v may insert here, you are %s", t.Name, t.Writers, j.agent.Role)
		return errors.Join(err, w.conn.done(p))
	}
	j.result.Uses = p.plan.uses(j.agent.Name)
	w.watch(j, false)
	res, err := w.conn.rows(p, st.Args, w.store.cfg.Limits)
	if w.cap.err != nil {
		err = w.cap.err
	}
	if err = w.broken(j, err); err == nil {
		err = w.record(j, res)
	}
	return errors.Join(err, w.conn.done(p))
}

// watch readies the capture for a job.
func (w *writer) watch(j *job, claim bool) {
	j.away = &changes{dir: changesDir(w.store.cfg.Path), name: j.id.String() + ".jsonl"}
	w.cap.begin(&rule{agent: j.agent, at: w.conn.at, claim: claim, limit: w.store.cfg.Limits.Write}, j.away)
}

// broken says why a statement was broken off, if it was.
func (w *writer) broken(j *job, err error) error {
	if !errors.Is(err, sqlite3.INTERRUPT) {
		return err
	}
	if e := j.ctx.Err(); e != nil {
		return e
	}
	if !j.slow {
		return errSlow
	}
	return errTime(w.store.cfg.Limits, nil)
}

func errTime(l board.Limits, tables []string) error {
	return board.Refuse(board.ErrTime, tables, "a statement may take %v", l.Time)
}

// record makes the event of what the capture saw.
func (w *writer) record(j *job, res board.Result) error {
	res.Changed = w.cap.rows
	j.result.Result = res
	if j.away.n == 0 {
		return nil
	}
	for agent, n := range w.cap.stored {
		if l := w.store.cfg.Limits.Stored; n > 0 && w.stored[agent]+n > l {
			return board.Refuse(board.ErrQuota, slices.Sorted(maps.Keys(w.cap.touched)),
				"%s has %d bytes in its rows and may have %d; remove some", agent, w.stored[agent], l)
		}
	}
	data, err := payload(j.agent.Name, j.result.Uses, j.away)
	if err != nil {
		return err
	}
	for agent, n := range w.cap.stored {
		w.stored[agent] += n
	}
	j.touched, j.stored = slices.Sorted(maps.Keys(w.cap.touched)), w.cap.stored
	j.event = &event.Event{ID: j.id, Type: board.WrittenType.Name(), Version: 1, Time: w.store.cfg.Now(), Payload: data}
	return nil
}

// rows runs a statement and takes its rows, up to the limits.
func (c *conn) rows(p *prepared, args []any, l board.Limits) (board.Result, error) {
	refuse := func(reason error, format string, a ...any) (board.Result, error) {
		return board.Result{}, board.Refuse(reason, p.plan.tables(), format, a...)
	}
	if n := p.BindCount(); n != len(args) {
		return refuse(board.ErrStatement, "the statement has %d parameters, %d arguments came with it", n, len(args))
	}
	if err := bind(p.Stmt, args...); err != nil {
		return board.Result{}, c.reason(err, p.plan)
	}
	// What SQLite prepares by itself while it runs passes the guard too.
	c.guard.plan = p.plan
	defer func() { c.guard.plan = nil }()
	res := board.Result{Columns: make([]string, p.ColumnCount())}
	for i := range res.Columns {
		res.Columns[i] = p.ColumnName(i)
	}
	size := 0
	more, err := step(p.Stmt)
	for ; more; more, err = step(p.Stmt) {
		row := make([]any, len(res.Columns))
		for i := range row {
			v, n, err := result(p.Stmt, i)
			if err != nil {
				return refuse(board.ErrStatement, "column %s of the result: %v", res.Columns[i], err)
			}
			row[i] = v
			size += n
		}
		size += len(row) // so that empty rows count
		switch res.Rows = append(res.Rows, row); {
		case len(res.Rows) > l.Rows:
			return refuse(board.ErrTooLarge, "the result has more than %d rows; use WHERE or LIMIT", l.Rows)
		case size > l.Result:
			return refuse(board.ErrTooLarge, "the result has more than %d bytes; use WHERE, LIMIT or fewer columns", l.Result)
		}
	}
	if err != nil {
		return board.Result{}, c.reason(err, p.plan)
	}
	return res, nil
}

// result is a value of a row and its bytes.
func result(s *sqlite3.Stmt, i int) (any, int, error) {
	switch s.ColumnType(i) {
	case sqlite3.INTEGER:
		return s.ColumnInt64(i), 8, nil
	case sqlite3.FLOAT:
		f := s.ColumnFloat(i)
		if f-f != 0 {
			return nil, 0, fmt.Errorf("%v is not a finite number", f)
		}
		return f, 8, nil
	case sqlite3.TEXT:
		text := s.ColumnText(i)
		if board.CheckText(text) != nil {
			return nil, 0, errors.New("it is not UTF-8 text; use hex()")
		}
		return text, len(text), nil
	case sqlite3.BLOB:
		return nil, 0, errors.New("it is bytes; use hex()")
	}
	return nil, 0, nil
}

// Claim implements desk.Backend.
func (s *store) Claim(ctx context.Context, a board.Agent, c board.Claim) (desk.Done, error) {
	return s.submit(ctx, a, c.ID, false, func(w *writer, j *job) error { return w.claim(j, c) })
}

func (w *writer) claim(j *job, c board.Claim) error {
	t := w.cap.tables[c.Table]
	if t == nil || !t.Holder {
		return board.Refuse(board.ErrStatement, nil, "rows of %q cannot be claimed; %s and %s have such rows", c.Table, board.Subtasks, board.Assign)
	}
	crew := c.Crew
	if crew == "" {
		crew = j.agent.Crew
	}
	w.watch(j, true)
	j.result.Uses = []board.Use{{Agent: j.agent.Name, Table: t.Name, Kind: board.Write}}
	sql := "update " + t.Name + " set state = 'claimed', holder = ?1, held_at = ?2 where id = (select id from " + t.Name +
		" where state = 'open' and (to_crew is null or to_crew = ?3) and (to_agent is null or to_agent = ?1)" +
		" order by priority desc, id limit 1) returning *"
	s, err := w.conn.trusted(sql, j.agent.Name, w.conn.at, crew)
	if err != nil {
		return w.broken(j, explain(err))
	}
	var res board.Result
	for _, col := range t.cols {
		res.Columns = append(res.Columns, col.Name)
	}
	defer reset(s)
	more, err := step(s)
	for ; more; more, err = step(s) {
		row := make([]any, len(t.cols))
		for i := range row {
			if row[i], _, err = result(s, i); err != nil {
				return fmt.Errorf("claim: %w", err)
			}
		}
		res.Rows = append(res.Rows, row)
	}
	if w.cap.err != nil {
		err = w.cap.err
	}
	if err != nil {
		return w.broken(j, explain(err))
	}
	return w.record(j, res)
}
