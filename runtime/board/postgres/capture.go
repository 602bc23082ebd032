package postgres

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
)

// A capture takes what the triggers tell of one statement, judges it, and keeps it.
type capture struct {
	tables map[string]*shape
	agent  board.Agent
	at     string
	claim  bool
	limits board.Limits

	changes changes
	grown   map[string]int64 // by agent: bytes that its rows grew
	rows    int64
	err     error  // the first refusal or failure
	stop    func() // breaks the statement off
}

// take is a session's sink.
func (c *capture) take(n *pgconn.Notice) {
	if n.Code != codeTold || n.SchemaName != "dure_board" || c.err != nil {
		return
	}
	if err := c.row(n); err != nil {
		c.err = err
		c.stop()
	}
}

var ops = map[string]board.Op{"INSERT": board.Insert, "UPDATE": board.Update, "DELETE": board.Delete}

func (c *capture) row(n *pgconn.Notice) error {
	t := c.tables[n.TableName]
	if t == nil {
		return fmt.Errorf("%w: a change of table %q, which is not known", board.ErrDamaged, n.TableName)
	}
	d := board.Deed{Agent: c.agent, At: c.at, Claim: c.claim, Op: ops[n.ColumnName]}
	var err error
	if d.Op != board.Insert {
		if d.Old, err = t.values(n.Detail); err != nil {
			return err
		}
	}
	if d.Op != board.Delete {
		if d.New, err = t.values(n.Message); err != nil {
			return err
		}
		if err := c.fits(t, d.New); err != nil {
			return err
		}
	}
	if err := t.Judge(d); err != nil {
		return err
	}
	return c.record(t, d)
}

// fits refuses values that are too large.
func (c *capture) fits(t *shape, row []any) error {
	for i, v := range row {
		if board.Size(v) > int64(c.limits.Value) {
			return board.Refuse(board.ErrTooLarge, []string{t.Name}, "%s.%s: a value may have %d bytes", t.Name, t.cols[i].Name, c.limits.Value)
		}
	}
	return nil
}

// record keeps the change, and what it adds to what the row's writer has stored.
func (c *capture) record(t *shape, d board.Deed) error {
	ch := board.Change{Table: t.Name, Op: d.Op}
	row := d.New
	if d.Op == board.Delete {
		row = d.Old
	}
	ch.ID = row[0].(int64)
	var before, after, written int64
	for i, col := range t.cols[1:] {
		i++
		switch {
		case d.Op == board.Insert:
			if d.New[i] != nil {
				written += board.Size(d.New[i])
				ch.Set(col.Name, d.New[i])
			}
		case d.Op == board.Update:
			before, after = before+board.Size(d.Old[i]), after+board.Size(d.New[i])
			if d.Old[i] != d.New[i] {
				written += board.Size(d.New[i])
				ch.Set(col.Name, d.New[i])
			}
		default:
			before += board.Size(d.Old[i])
		}
	}
	if d.Op == board.Insert {
		after = written
	}
	owner, _ := row[1].(string)
	c.grown[owner] += after - before
	c.rows++
	if d.Op == board.Update && len(ch.Row) == 0 {
		return nil
	}
	if err := c.changes.add(ch, written); err != nil {
		return err
	}
	if c.changes.bytes > c.limits.Write {
		return tooMuch(t.Name, c.limits)
	}
	return nil
}

func tooMuch(table string, l board.Limits) error {
	return board.Refuse(board.ErrTooLarge, []string{table}, "a statement may write %d bytes", l.Write)
}

// values reads a row as the types of its columns.
func (t *shape) values(text string) ([]any, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("%w: a row of %s: %w", board.ErrDamaged, t.Name, err)
	}
	if len(raw) != len(t.cols) {
		return nil, fmt.Errorf("%w: a row of %s has %d columns, want %d", board.ErrDamaged, t.Name, len(raw), len(t.cols))
	}
	row := make([]any, len(t.cols))
	for i, c := range t.cols {
		v, err := value(raw[c.Name], c.Type)
		if err != nil {
			return nil, fmt.Errorf("%w: %s.%s: %w", board.ErrDamaged, t.Name, c.Name, err)
		}
		row[i] = v
	}
	return row, nil
}

func value(raw json.RawMessage, t board.Type) (any, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	switch t {
	case board.Integer:
		return strconv.ParseInt(string(raw), 10, 64)
	case board.Real:
		f, err := strconv.ParseFloat(string(raw), 64)
		return f + 0, err // no sign at zero
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}
