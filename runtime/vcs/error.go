package vcs

import (
	"errors"
	"fmt"

	"dure/runtime/vcs/object"
)

// What a caller branches on.
var (
	// ErrNotFound: there is no such object.
	ErrNotFound = errors.New("no such object")
	// ErrType: the object is of another type.
	ErrType = errors.New("an object of another type")
	// ErrNoPath: the tree has no such path.
	ErrNoPath = errors.New("no such path")
	// ErrStale: a ref is not where it was expected; a StaleError says where it is.
	// Nothing moved.
	ErrStale = errors.New("the ref has moved on")
	// ErrRefused: the actor may not move this ref; a RefusedError says why.
	ErrRefused = errors.New("refused")
	// ErrInvalid: the arguments can never be carried out.
	ErrInvalid = errors.New("invalid")
	// ErrTooLarge: beyond a limit of Options.
	ErrTooLarge = errors.New("too large")
	// ErrNothing: the changes leave the tree as it was.
	ErrNothing = errors.New("nothing changed")
	// ErrFull: no room on the disk. Nothing happened; the store goes on when there is
	// room again.
	ErrFull = errors.New("no room: free space where the repository is kept, then commit again")
	// ErrLocked: another process owns the repository.
	ErrLocked = errors.New("another process owns the repository")
	// ErrClosed: the repository was closed.
	ErrClosed = errors.New("the repository is closed")
	// ErrBroken: the disk failed while bytes were flushed, and nobody knows what is on
	// it. Open again: what was acknowledged is there.
	ErrBroken = errors.New("the disk failed; open the repository again")
	// ErrDamaged: bytes on the disk are not what was written.
	ErrDamaged = errors.New("the repository is damaged")
	// ErrNewer: a later program has written the repository.
	ErrNewer = errors.New("written by a later version")
	// ErrForeign: the folder is no repository that this package can own.
	ErrForeign = errors.New("not a repository to own")
)

// A StaleError is a lost race for a ref. It is an ErrStale.
type StaleError struct {
	Ref              string
	Expected, Actual object.ID // Zero: it does not exist
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("move %s: %v: expected at %s, is at %s", e.Ref, ErrStale, place(e.Expected), place(e.Actual))
}

func place(id object.ID) string {
	if id.IsZero() {
		return "nothing"
	}
	return id.Short()
}

// Is makes it an ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// A RefusedError is a move that its actor may not make. It is an ErrRefused.
type RefusedError struct {
	Actor Actor
	Ref   string
	Why   string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v may not move %s: %v: %s", e.Actor, e.Ref, ErrRefused, e.Why)
}

// Is makes it an ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
