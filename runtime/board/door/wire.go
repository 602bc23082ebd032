package door

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"dure/runtime/board"
	"dure/runtime/event"
)

// statement is the body of /v1/sql.
type statement struct {
	SQL  string `json:"sql"`
	Args []any  `json:"args,omitempty"`
	ID   string `json:"id,omitempty"`
}

// claim is the body of /v1/claim.
type claim struct {
	Table string `json:"table"`
	Crew  string `json:"crew,omitempty"`
	ID    string `json:"id,omitempty"`
}

// wait is the body of /v1/wait.
type wait struct {
	After   uint64   `json:"after"`
	Tables  []string `json:"tables,omitempty"`
	Seconds float64  `json:"seconds,omitempty"`
}

// Change is the answer to /v1/wait.
type Change struct {
	Change uint64 `json:"change"`
}

// result is the answer to /v1/sql and /v1/claim.
type result struct {
	Columns []string        `json:"columns"`
	Rows    [][]board.Value `json:"rows"`
	Changed int64           `json:"changed"`
	Change  uint64          `json:"change,omitempty"`
}

// failure is any other answer.
type failure struct {
	Error struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"error"`
}

// reasons are the errors of a board by name and status.
var reasons = []struct {
	err    error
	name   string
	status int
}{
	{board.ErrDenied, "denied", http.StatusForbidden},
	{board.ErrStatement, "statement", http.StatusBadRequest},
	{board.ErrTime, "time", http.StatusRequestTimeout},
	{board.ErrTooLarge, "too_large", http.StatusRequestEntityTooLarge},
	{board.ErrQuota, "quota", http.StatusTooManyRequests},
	{board.ErrBusy, "busy", http.StatusServiceUnavailable},
	{board.ErrDuplicate, "duplicate", http.StatusConflict},
	{board.ErrUnknown, "unknown", http.StatusInternalServerError},
	{board.ErrFull, "full", http.StatusInsufficientStorage},
	{board.ErrClosed, "closed", http.StatusServiceUnavailable},
	{board.ErrInvalid, "invalid", http.StatusBadRequest},
}

// EncodeResult writes a result as it is answered.
func EncodeResult(r board.Result) ([]byte, error) {
	head, err := json.Marshal(r.Columns)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"columns":`), head...)
	if r.Columns == nil {
		out = []byte(`{"columns":[]`)
	}
	out = append(out, `,"rows":[`...)
	for i, row := range r.Rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '[')
		for k, v := range row {
			if k > 0 {
				out = append(out, ',')
			}
			if out, err = board.AppendValue(out, v); err != nil {
				return nil, err
			}
		}
		out = append(out, ']')
	}
	return fmt.Appendf(out, "],\"changed\":%d,\"change\":%d}\n", r.Changed, r.Change), nil
}

// DecodeResult reads it.
func DecodeResult(data []byte) (board.Result, error) {
	var r result
	if err := json.Unmarshal(data, &r); err != nil {
		return board.Result{}, fmt.Errorf("result: %w", err)
	}
	out := board.Result{Columns: r.Columns, Changed: r.Changed, Change: r.Change}
	for _, row := range r.Rows {
		values := make([]any, len(row))
		for i, v := range row {
			values[i] = v.V
		}
		out.Rows = append(out.Rows, values)
	}
	return out, nil
}

// decodeBody reads one JSON value strictly.
func decodeBody(body io.Reader, into any) error {
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return board.Refuse(board.ErrTooLarge, nil, "a request may have %d bytes", large.Limit)
		}
		return board.Refuse(board.ErrStatement, nil, "the request: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return board.Refuse(board.ErrStatement, nil, "the request: more than one value")
	}
	return nil
}

// arguments makes Go values of JSON.
func arguments(args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, a := range args {
		n, ok := a.(json.Number)
		if !ok {
			out[i] = a // what is no value of a column, the desk refuses
			continue
		}
		if whole, err := n.Int64(); err == nil {
			out[i] = whole
			continue
		}
		f, err := n.Float64()
		if err != nil || !strings.ContainsAny(n.String(), ".eE") {
			return nil, board.Refuse(board.ErrStatement, nil, "argument %d: %s is beyond 64 bits", i+1, n)
		}
		out[i] = f
	}
	return out, nil
}

// ParseID reads the ID of a call; nothing is none.
func ParseID(s string) (board.ID, error) {
	if s == "" {
		return board.ID{}, nil
	}
	id, err := event.ParseID(s)
	if err != nil {
		return id, board.Refuse(board.ErrStatement, nil, "id: want 32 hexadecimal digits")
	}
	return id, nil
}

// fail makes an error of an answer.
func fail(data []byte, status string) error {
	var f failure
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&f); err != nil || f.Error.Reason == "" {
		return fmt.Errorf("the board answered %s: %.200s", status, data)
	}
	for _, r := range reasons {
		if r.name == f.Error.Reason {
			return &board.Refusal{Reason: r.err, Detail: strings.TrimPrefix(f.Error.Message, r.err.Error()+": ")}
		}
	}
	return errors.New(f.Error.Message)
}
