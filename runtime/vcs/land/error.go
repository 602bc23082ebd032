package land

import (
	"errors"
	"fmt"
	"time"
)

// What a caller branches on.
var (
	// ErrConflict: a ConflictError says what conflicts, and when to come again.
	ErrConflict = errors.New("conflicts with main")
	// ErrBlocked: a BlockedError names the task that splits the file.
	ErrBlocked = errors.New("the file is blocked")
	// ErrStopped: landing made only conflicts and stopped itself, until Resume.
	ErrStopped = errors.New("landing is stopped: too many conflicts; look at the busiest files, then resume it")
	// ErrMarkers: the change brings conflict markers.
	ErrMarkers = errors.New("holds conflict markers: settle the conflict in the file, then land again")
	// ErrNotOwn: the commit is not one of the agent's branch.
	ErrNotOwn = errors.New("not a commit of the agent's branch")
	// ErrLanded: main has the commit already.
	ErrLanded = errors.New("main has it already")
	// ErrUnrelated: the commit and main have no common past.
	ErrUnrelated = errors.New("has no commit in common with main: begin the branch at main")
	// ErrPartial: who settles a conflict is one of those who made it.
	ErrPartial = errors.New("a conflict is settled by an agent that wrote neither side")
	// ErrUnknown: there is no such open conflict.
	ErrUnknown = errors.New("no such open conflict")
	// ErrInvalid: the request can never be carried out.
	ErrInvalid = errors.New("invalid")
	// ErrClosed: the landing job has ended.
	ErrClosed = errors.New("the landing job has ended")
)

// A ConflictError is a landing that needs a decision. It is an ErrConflict.
type ConflictError struct {
	Conflict   *Conflict
	RetryAfter time.Duration // not before then is a new try worth it
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("land %s of %s: %v: %v", e.Conflict.Theirs.Commit.Short(), e.Conflict.Theirs.Agent, ErrConflict, e.Conflict.paths())
}

// Is makes it an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// A BlockedError is a change of a file that is being split. It is an ErrBlocked.
type BlockedError struct{ Block }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("change %q: %v: task %q splits it; leave it alone until then, or ask to wait", e.Path, ErrBlocked, e.Task)
}

// Is makes it an ErrBlocked.
func (e *BlockedError) Is(target error) bool { return target == ErrBlocked }
