package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"dure/runtime/board"
)

// Most rows that a denied statement goes on to touch before it is broken off. To
// break off loses the whole transaction, others' statements with it, which are then
// run again; to let it end and take it back does not.
const touchDenied = 10_000

// How far ahead of the last row an id may be. A statement that inserts with OR
// IGNORE passes over ids; an agent that names one itself may not use them up.
const idSlack = 10_000_000

// A capture sees every row that is changed on the connection that writes.
type capture struct {
	tables map[string]*shape
	rule   *rule // nil: the log is being applied, which nobody judges

	changes *changes
	stored  map[string]int64 // by agent: bytes that rows grew
	rows    int64            // changed
	touched map[string]bool  // tables
	err     error            // the first refusal or failure
	after   int              // rows since then
}

// A shape is what the hook needs of a table.
type shape struct {
	board.Table
	cols []board.Column
	last int64 // largest id that was ever given
}

// A rule is who changes rows, and how much of them.
type rule struct {
	agent board.Agent
	at    string
	claim bool
	limit int64 // bytes
}

// begin readies the capture for a statement.
func (c *capture) begin(r *rule, ch *changes) {
	c.rule, c.changes = r, ch
	c.stored, c.touched = make(map[string]int64), make(map[string]bool)
	c.rows, c.err, c.after = 0, nil, 0
}

func (c *capture) fail(err error) {
	if errors.Is(err, sqlite3.NOMEM) {
		err = errMemory(nil)
	}
	if c.err == nil {
		c.err = err
	}
}

// hopeless reports whether the statement is lost and too long to wait for.
func (c *capture) hopeless() bool { return c.err != nil && c.after > touchDenied }

// hook is called before each change of a row.
func (c *capture) hook(p sqlite3.PreUpdateData) {
	t := c.tables[p.Table]
	if t == nil {
		return // the board's own
	}
	if c.err != nil {
		c.after++
		return
	}
	if err := c.row(t, p); err != nil {
		c.fail(err)
	}
}

func (c *capture) row(t *shape, p sqlite3.PreUpdateData) (err error) {
	defer outOfMemory(&err)
	d := board.Deed{}
	id := p.OldRowID
	switch p.Op {
	case sqlite3.AUTH_INSERT:
		d.Op, id = board.Insert, p.NewRowID
	case sqlite3.AUTH_UPDATE:
		d.Op = board.Update
	case sqlite3.AUTH_DELETE:
		d.Op = board.Delete
	}
	if d.Op != board.Insert {
		if d.Old, err = t.values(p.Old, p.OldRowID); err != nil {
			return err
		}
	}
	if d.Op != board.Delete {
		if d.New, err = t.values(p.New, p.NewRowID); err != nil {
			return err
		}
	}
	if c.rule != nil {
		if err := c.judge(t, d, id); err != nil {
			return err
		}
	}
	if d.Op == board.Insert {
		t.last = max(t.last, id)
	}
	return c.record(t, d, id, p.Depth())
}

func (c *capture) judge(t *shape, d board.Deed, id int64) error {
	d.Agent, d.At, d.Claim = c.rule.agent, c.rule.at, c.rule.claim
	if d.Op == board.Insert && (id <= t.last || id > t.last+idSlack) {
		return board.Refuse(board.ErrDenied, []string{t.Name}, "%s: leave the column id out, it is filled", t.Name)
	}
	if err := t.Judge(d); err != nil {
		return err
	}
	for i, v := range d.New {
		if s, ok := v.(string); ok {
			if err := board.CheckText(s); err != nil {
				return board.Refuse(board.ErrStatement, []string{t.Name}, "%s.%s: %v", t.Name, t.cols[i].Name, err)
			}
		}
		if f, ok := v.(float64); ok && f-f != 0 {
			return board.Refuse(board.ErrStatement, []string{t.Name}, "%s.%s: want a finite number", t.Name, t.cols[i].Name)
		}
	}
	return nil
}

// record keeps the change, and what it adds to what the row's writer has stored.
func (c *capture) record(t *shape, d board.Deed, id int64, depth int) error {
	ch := board.Change{Table: t.Name, Op: d.Op, ID: id}
	var before, after, written int64
	for i, col := range t.cols {
		switch {
		case i == 0: // the id
		case d.Op == board.Insert:
			if d.New[i] != nil {
				written += board.Size(d.New[i])
				ch.Set(col.Name, d.New[i])
			}
		case d.Op == board.Update:
			before += board.Size(d.Old[i])
			after += board.Size(d.New[i])
			if d.Old[i] != d.New[i] {
				written += board.Size(d.New[i])
				ch.Set(col.Name, d.New[i])
			}
		default:
			before += board.Size(d.Old[i])
		}
	}
	owner := d.Old
	if d.Op == board.Insert {
		owner, after = d.New, written
	}
	c.stored[owner[1].(string)] += after - before
	if depth == 0 { // not the trigger's
		c.rows++
	}
	c.touched[t.Name] = true
	if c.changes == nil || c.rule == nil || d.Op == board.Update && len(ch.Row) == 0 {
		return nil
	}
	if err := c.changes.add(ch, written); err != nil {
		return err
	}
	if c.changes.bytes > c.rule.limit {
		return board.Refuse(board.ErrTooLarge, []string{t.Name}, "a statement may write %d MiB", c.rule.limit>>20)
	}
	return nil
}

// values reads a row as the types of its columns.
func (t *shape) values(get func(int) (sqlite3.Value, error), id int64) ([]any, error) {
	row := make([]any, len(t.cols))
	row[0] = id
	for i := 1; i < len(row); i++ {
		v, err := get(i)
		if err != nil {
			return nil, fmt.Errorf("table %s, column %s: %w", t.Name, t.cols[i].Name, err)
		}
		row[i] = value(v, t.cols[i].Type)
	}
	return row, nil
}

// value is a value of a column. A strict table holds nothing but its type; a real
// that is whole may come as an integer, which is how SQLite keeps it.
func value(v sqlite3.Value, t board.Type) any {
	switch v.Type() {
	case sqlite3.INTEGER:
		if t == board.Real {
			return float64(v.Int64())
		}
		return v.Int64()
	case sqlite3.FLOAT:
		return v.Float()
	case sqlite3.TEXT:
		return v.Text()
	}
	return nil
}
