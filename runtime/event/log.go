package event

import (
	"context"
	"iter"
)

// A Log keeps events. The package comment says what holds of it. Any number of
// processes may have the same log open.
type Log interface {
	// Append puts events at the end of a stream and returns the sequence of the
	// last one. expected is the sequence that the stream must end at (0: it must be
	// empty), or Any. The caller keeps the events; they are not changed.
	//
	// When ctx ends before the append has begun, nothing was appended and the error
	// is ctx's; an append that has begun is waited for.
	//
	// Errors: ErrInvalid, ErrConflict, ErrDuplicate, ErrFull, ErrClosed, ctx's, and
	// those of the store, after which the outcome is unknown.
	Append(ctx context.Context, stream string, expected Sequence, events ...Event) (Sequence, error)

	// Read yields the events of a stream from a sequence on (0 or 1: all) to where
	// it ends at the time of the call. A stream that nobody appended to is empty.
	// An error is the last pair. The events are the caller's.
	Read(ctx context.Context, stream string, from Sequence) iter.Seq2[Event, error]

	// Follow is Read that goes on with what is appended, until ctx ends (the last
	// pair holds its error) or the log is closed (ErrClosed).
	Follow(ctx context.Context, stream string, from Sequence) iter.Seq2[Event, error]

	// ReadAll and FollowAll do the same for all streams, by position.
	ReadAll(ctx context.Context, from Position) iter.Seq2[Event, error]
	FollowAll(ctx context.Context, from Position) iter.Seq2[Event, error]

	// Last is the sequence that a stream ends at, 0 if it is empty.
	Last(ctx context.Context, stream string) (Sequence, error)

	// Head is the position of the last event, 0 if there is none.
	Head(ctx context.Context) (Position, error)

	// Wait returns the head as soon as it is beyond after.
	Wait(ctx context.Context, after Position) (Position, error)

	// Close finishes what was appended and is not acknowledged yet, ends the
	// followers, and lets go of the store. It may be called again.
	Close() error
}
