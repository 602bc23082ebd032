package event

import (
	"errors"
	"fmt"
)

// What a caller of a log branches on.
var (
	// ErrInvalid: the arguments can never be appended or read.
	ErrInvalid = errors.New("invalid")
	// ErrConflict: the stream does not end where it was expected to; a
	// ConflictError says where it does.
	ErrConflict = errors.New("the stream has moved on")
	// ErrDuplicate: an event with such an ID is in the log; a DuplicateError names it.
	ErrDuplicate = errors.New("the event is in the log already")
	// ErrFull: the store has no room. Nothing was appended, and the log goes on
	// when there is room again.
	ErrFull = errors.New("no room: free space where the log is kept, then append again")
	// ErrReadOnly: the log was opened to be read only.
	ErrReadOnly = errors.New("the log was opened to be read only")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrNewer: a later program has written the log; a NewerError says which.
	ErrNewer = errors.New("written by a later version")
	// ErrForeign: what is there is something else than a log.
	ErrForeign = errors.New("not an event log")
	// ErrDamaged: the log has a hole, or an event is not as it was written. Nothing is to
	// be done by what it says.
	ErrDamaged = errors.New("the log is damaged")
	// ErrNotDurable: the store is set up to lose what it acknowledged.
	ErrNotDurable = errors.New("the store does not keep what it acknowledges")
	// ErrUnknownType: the register has no such type, or only an earlier version.
	// The event is good: its payload can be read as it is.
	ErrUnknownType = errors.New("unknown type of event")
)

// A ConflictError is a lost race. It is an ErrConflict.
type ConflictError struct {
	Stream           string
	Expected, Actual Sequence
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("append to %q: %v: expected to end at %d, ends at %d", e.Stream, ErrConflict, e.Expected, e.Actual)
}

// Is makes it an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// A DuplicateError names an event that is in the log already. It is an
// ErrDuplicate.
type DuplicateError struct {
	Stream string // that was appended to
	ID     ID
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("append to %q: %v: %v", e.Stream, ErrDuplicate, e.ID)
}

// Is makes it an ErrDuplicate.
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// A NewerError refuses a log whose schema is of a later version. It is an ErrNewer.
type NewerError struct {
	Log          string // file or database
	Found, Known int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("open %s: %v: its schema is version %d, this program knows %d; use the later program",
		e.Log, ErrNewer, e.Found, e.Known)
}

// Is makes it an ErrNewer.
func (e *NewerError) Is(target error) bool { return target == ErrNewer }
