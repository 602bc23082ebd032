package board

import (
	"errors"
	"fmt"
)

// What a caller branches on.
var (
	// ErrInvalid: the harness called with what can never be right.
	ErrInvalid = errors.New("invalid")
	// ErrDenied: an agent may not do this.
	ErrDenied = errors.New("denied")
	// ErrStatement: the statement is wrong: its SQL, a type, a constraint.
	ErrStatement = errors.New("statement failed")
	// ErrTime: the statement took longer than Limits.Time. Nothing of it stayed.
	ErrTime = errors.New("statement took too long")
	// ErrTooLarge: statement, value, result, change or memory beyond a limit. Nothing
	// of the statement stayed.
	ErrTooLarge = errors.New("too large")
	// ErrQuota: the agent has used up what it may store, or call in a minute.
	ErrQuota = errors.New("quota used up")
	// ErrBusy: the statement waited longer than Limits.Queue and was not begun.
	ErrBusy = errors.New("the tables are busy")
	// ErrDuplicate: a write with this ID was done before.
	ErrDuplicate = errors.New("done already")
	// ErrUnknown: the store failed while the write was being made durable; it may have
	// happened. With the same ID it can be sent again safely.
	ErrUnknown = errors.New("it is not known whether the write was done")
	// ErrFull: the store has no room; nothing was written.
	ErrFull = errors.New("no room where the tables are kept")
	// ErrClosed: the board was closed.
	ErrClosed = errors.New("the board is closed")
	// ErrDamaged: tables and log contradict each other.
	ErrDamaged = errors.New("the tables do not agree with their log")
)

// A Refusal is why a statement was not done. It is the Reason, one of the errors
// above.
type Refusal struct {
	Reason error
	Tables []string // that it was about, as far as known
	Detail string   // for the agent: what was wrong, and what would be right
}

func (r *Refusal) Error() string { return r.Reason.Error() + ": " + r.Detail }

// Unwrap makes it its reason.
func (r *Refusal) Unwrap() error { return r.Reason }

// Refuse makes a Refusal.
func Refuse(reason error, tables []string, format string, args ...any) error {
	return &Refusal{Reason: reason, Tables: tables, Detail: fmt.Sprintf(format, args...)}
}

// KindOf is what a failed call is counted as; false if it is not counted: the
// store's failures, and calls that were given up.
func KindOf(err error) (Kind, bool) {
	switch {
	case errors.Is(err, ErrDenied):
		return Denial, true
	case errors.Is(err, ErrTime), errors.Is(err, ErrTooLarge), errors.Is(err, ErrQuota), errors.Is(err, ErrBusy):
		return Limit, true
	case errors.Is(err, ErrStatement), errors.Is(err, ErrDuplicate):
		return Fault, true
	}
	return "", false
}
