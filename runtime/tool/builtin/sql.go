package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"dure/runtime/board"
	"dure/runtime/event"
	"dure/runtime/tool"
)

//go:embed sql.md
var sqlText string

// Statements carries out SQL as one agent: a board.Gateway.
type Statements interface {
	Do(ctx context.Context, s board.Statement) (board.Result, error)
}

// SQL is the agent's way to the tables that its team shares.
type SQL struct{ On Statements }

// Bounds of what is shown of a result.
const (
	maxRows = 100
	maxCell = 500
)

// Spec implements tool.Tool.
func (SQL) Spec() tool.Spec {
	return tool.Spec{Name: "sql", Description: strings.TrimSpace(sqlText), Again: true, Fields: []tool.Field{
		{Name: "statement", Description: "one statement, as select id, body from notes order by id desc limit 20", Required: true, Also: []string{"sql", "query", "command"}}}}
}

// Run implements tool.Tool.
func (t SQL) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	statement, err := said(args, "statement", 256<<10)
	if err != nil {
		return invalid("%v", err), nil
	}
	r, err := t.do(ctx, board.Statement{SQL: statement, ID: event.DerivedID("sql", call.Agent, call.ID)})
	switch {
	case err == nil:
		return rows(r), nil
	case errors.Is(err, board.ErrDuplicate):
		// An ID that is of this call alone is in the log because of it: a process died, or
		// the store did, before it could say that the statement was done.
		return done("done"), nil
	case refused(err):
		return failed("%v", err), nil
	}
	return tool.Result{}, fmt.Errorf("sql: %w", err)
}

// do sends a statement until it is known what became of it: with one ID it is done
// once.
func (t SQL) do(ctx context.Context, s board.Statement) (r board.Result, err error) {
	for range 3 {
		if r, err = t.On.Do(ctx, s); !errors.Is(err, board.ErrUnknown) {
			break
		}
	}
	return r, err
}

// refused are the errors that the agent can do something about.
func refused(err error) bool {
	_, counted := board.KindOf(err)
	return counted
}

// rows shows a result: columns and values with | between, a row in each line.
func rows(r board.Result) tool.Result {
	if len(r.Columns) == 0 {
		return done("%s changed", counted(int(r.Changed), "row"))
	}
	if len(r.Rows) == 0 {
		return done("no rows (%s)", strings.Join(r.Columns, ", "))
	}
	var b strings.Builder
	b.WriteString(strings.Join(r.Columns, " | ") + "\n")
	shown := 0
	for _, row := range r.Rows[:min(len(r.Rows), maxRows)] {
		if b.Len() > maxShown {
			break
		}
		for i, v := range row {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(cell(v))
		}
		b.WriteByte('\n')
		shown++
	}
	if shown < len(r.Rows) {
		fmt.Fprintf(&b, "[%d rows; these are the first %d: ask for fewer rows or columns, or with limit and offset]", len(r.Rows), shown)
	}
	return done("%s", b.String())
}

// cell is a value in one line.
func cell(v any) string {
	text := "null"
	switch v := v.(type) {
	case nil:
	case string:
		text = strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\r", `\n`).Replace(v)
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		text = fmt.Sprint(v)
	}
	if len(text) > maxCell {
		text = fmt.Sprintf("%s... (%d bytes)", wholeRunes([]byte(text[:maxCell])), len(text))
	}
	return text
}
