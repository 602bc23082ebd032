package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
	"dure/runtime/event"
)

// Codes that the schema's own functions raise.
const (
	codeTold   = "DB001" // a row has changed
	codeDenied = "DB403"
	codeLarge  = "DB413"
	codeQuota  = "DB429"
	codeDone   = "DB409"
)

// Of a statement that is run again.
var (
	errWrites  = errors.New("the statement writes")
	errSlow    = errors.New("the statement takes long")
	errCollide = errors.New("the statement met another")
	errLocked  = errors.New("the statement waits for another")
)

// refuse makes a board.Refusal of what the server says of an agent's statement.
func (s *store) refuse(err error, tables []string) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || !fromServer(err) {
		return explain(err)
	}
	if pg.TableName != "" && pg.SchemaName != "dure_board" && pg.SchemaName != "dure_event" {
		tables = []string{pg.TableName}
	}
	say := func(reason error, format string, args ...any) error {
		return board.Refuse(reason, s.known(tables), format, args...)
	}
	switch pg.Code {
	case codeDenied:
		return say(board.ErrDenied, "%s", pg.Message)
	case codeLarge, "54000", "54001", "54011", "53200", "53400":
		return say(board.ErrTooLarge, "%s", pg.Message)
	case codeQuota:
		return say(board.ErrQuota, "%s", pg.Message)
	case codeDone:
		return board.Refuse(board.ErrDuplicate, nil, "%s", pg.Message)
	case "42501": // insufficient_privilege
		return say(board.ErrDenied, "%s", s.denial(pg.Message))
	case "42P14": // invalid_prepared_statement_definition
		return say(board.ErrDenied, "a statement selects, inserts, updates or deletes rows")
	case "25006":
		return errWrites
	case "40001", "40P01":
		return errCollide
	case "53100":
		return fmt.Errorf("%w (%w)", board.ErrFull, err)
	case "55P03": // lock_not_available
		if strings.Contains(pg.Message, "lock timeout") {
			return errLocked
		}
	case "57014": // query_canceled
		if !strings.Contains(pg.Message, "statement timeout") {
			return errCollide // a cancel that was meant for the one before it
		}
		return say(board.ErrTime, "a statement may take %v", s.cfg.Limits.Time)
	case "42601":
		if strings.Contains(pg.Message, "multiple commands") {
			return say(board.ErrDenied, "one statement a call; there is more after the first")
		}
	case "XX000":
		if strings.Contains(pg.Message, "invalid memory alloc request size") || strings.Contains(pg.Message, "out of memory") {
			return say(board.ErrTooLarge, "the statement makes a value that is too large")
		}
	}
	// Whatever is wrong with the statement and its data, and not with the server.
	if slices.Contains([]string{"0A", "20", "21", "22", "23", "26", "2F", "34", "42", "44", "55"}, pg.Code[:2]) {
		at := ""
		if n := pg.Position - int32(len(preparing)); n > 0 {
			at = fmt.Sprintf(" (at character %d)", n)
		}
		hint := ""
		if pg.Hint != "" {
			hint = "; " + pg.Hint
		}
		return say(board.ErrStatement, "%s%s%s", pg.Message, at, hint)
	}
	return explain(err)
}

// denial is what the server says of a missing privilege, and what would be right.
func (s *store) denial(message string) string {
	what, name, _ := strings.Cut(strings.TrimPrefix(message, "permission denied for "), " ")
	switch {
	case what == "function":
		return "there is no function " + name + " for agents"
	case what == "table" && s.shapes()[name] != nil:
		return name + ": its columns id, at, holder and held_at are filled and stay, agent and crew too; leave them out"
	case what == "table", what == "view", what == "schema":
		return "there is no " + what + " " + name + " for agents"
	}
	return message
}

// why is the refusal of a statement that was broken off.
func (s *store) why(c cause, ctx context.Context, tables []string) error {
	switch c {
	case gone:
		return ctx.Err()
	case time_:
		return board.Refuse(board.ErrTime, s.known(tables), "a statement may take %v", s.cfg.Limits.Time)
	case heap:
		return board.Refuse(board.ErrTooLarge, s.known(tables), "the statement needs more memory than it may have; work on fewer rows at once")
	case moment:
		return errSlow
	}
	return nil
}

// explain makes what callers branch on out of the server's errors.
func explain(err error) error {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "53100": // disk_full
		return fmt.Errorf("%w (%w)", board.ErrFull, err)
	case errors.Is(err, event.ErrClosed):
		return fmt.Errorf("%w (%w)", board.ErrClosed, err)
	}
	return err
}
