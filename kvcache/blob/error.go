package blob

import (
	"errors"
	"fmt"
)

var (
	// ErrTruncated: the bytes end before what they announce.
	ErrTruncated = errors.New("truncated state")
	// ErrMalformed: the bytes contradict the format.
	ErrMalformed = errors.New("malformed state")
	// ErrLayout: the bytes are of another model, other types of the cache or
	// another context than the layout, or two layouts differ.
	ErrLayout = errors.New("layout differs")
	// ErrPositions: rows that were asked for are missing, or there twice.
	ErrPositions = errors.New("positions do not add up")
	// ErrState: there is no recurrent state, or no window, of the position
	// asked for. A checkpoint taken there has it.
	ErrState = errors.New("no state of this position")
)

// FormatError says where in the bytes something is wrong.
type FormatError struct {
	// Offset in bytes to the field at fault.
	Offset int
	// Field names it, for example "pool 0 layer 3 key type".
	Field string
	// Kind is ErrTruncated, ErrMalformed or ErrLayout.
	Kind error
	// Detail says what is wrong with it.
	Detail string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("sequence state: offset %d: %s: %v: %s", e.Offset, e.Field, e.Kind, e.Detail)
}

func (e *FormatError) Unwrap() error { return e.Kind }
