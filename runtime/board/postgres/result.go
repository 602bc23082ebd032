package postgres

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
)

// A result takes rows as they come, up to the limits.
type result struct {
	board.Result
	limits board.Limits
	size   int
	err    error
	stop   func()
}

func (r *result) read(rr *pgconn.ResultReader) error {
	fields := rr.FieldDescriptions()
	r.Columns = make([]string, len(fields))
	for i, f := range fields {
		r.Columns[i] = f.Name
	}
	for rr.NextRow() {
		if r.err != nil {
			continue // until the server hears of it
		}
		if r.err = r.row(fields, rr.Values()); r.err != nil {
			r.Rows = nil
			r.stop()
		}
	}
	return nil
}

func (r *result) row(fields []pgconn.FieldDescription, values [][]byte) error {
	row := make([]any, len(values))
	r.size += len(values) // so that empty rows count
	for i, v := range values {
		r.size += len(v)
		if len(v) > r.limits.Value {
			return board.Refuse(board.ErrTooLarge, nil, "a value may have %d bytes", r.limits.Value)
		}
		if v == nil {
			continue
		}
		var err error
		if row[i], err = shown(fields[i].DataTypeOID, string(v)); err != nil {
			return board.Refuse(board.ErrStatement, nil, "column %s of the result: %v", fields[i].Name, err)
		}
	}
	switch r.Rows = append(r.Rows, row); {
	case len(r.Rows) > r.limits.Rows:
		return board.Refuse(board.ErrTooLarge, nil, "the result has more than %d rows; use WHERE or LIMIT", r.limits.Rows)
	case r.size > r.limits.Result:
		return board.Refuse(board.ErrTooLarge, nil, "the result has more than %d bytes; use WHERE, LIMIT or fewer columns", r.limits.Result)
	}
	return nil
}

var errNotFinite = errors.New("it is not a finite number")

// shown is a value of a result as a board.Result has it: whole numbers and truth
// values are an int64, others a float64, all else its text.
func shown(oid uint32, text string) (any, error) {
	switch oid {
	case oidBool:
		if text == "t" {
			return int64(1), nil
		}
		return int64(0), nil
	case oidInt2, oidInt4, oidInt8:
		return strconv.ParseInt(text, 10, 64)
	case oidNumeric:
		if !strings.Contains(text, ".") {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				return n, nil
			}
		}
		return real(text)
	case oidFloat4, oidFloat8:
		return real(text)
	}
	return text, nil
}

func real(text string) (any, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f-f != 0 {
		return nil, errNotFinite
	}
	return f, nil
}
