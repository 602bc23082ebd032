package journal

import (
	"context"

	"dure/runtime/event"
)

// A Backend keeps events. The committer's goroutine alone calls Commit; the others
// are called from any goroutine, also while Commit runs.
type Backend interface {
	// Commit carries out a group in one transaction: it locks the log's end against
	// all other committers, those of other processes too, looks up what
	// Group.Assign wants to know, calls it, writes what it returns, and returns when
	// that is durable. An error means that no append of the group is acknowledged.
	// The lock is held until the events are visible, so that positions become
	// visible in their order.
	Commit(g *Group) error

	// Page reads the next events of a query, at least one if there is one.
	Page(ctx context.Context, q Query) ([]event.Event, error)

	// Head is the position of the last event, 0 if there is none.
	Head(ctx context.Context) (event.Position, error)

	// Last is the sequence that a stream ends at, 0 if it is empty.
	Last(ctx context.Context, stream string) (event.Sequence, error)

	// Touched names the streams of the events at positions after+1 to upto, no more
	// than limit of them.
	Touched(ctx context.Context, after, upto event.Position, limit int) ([]string, error)

	// Watch calls moved whenever another process may have appended, also if it is
	// not sure, until ctx ends. While waiting says false nobody needs to know.
	Watch(ctx context.Context, waiting func() bool, moved func())

	// Close lets go of everything. No other call is running.
	Close() error
}

// Bounds of a page: how many events, and after how many bytes of payload no
// further event is added.
const (
	PageEvents = 256
	PageBytes  = 1 << 20
)

// A Query says which events to read: those of a stream with sequences From to To,
// or with Stream "" those at positions From to To.
type Query struct {
	Stream   string
	From, To uint64
}
