package desk

import (
	"context"
	"io"

	"dure/runtime/board"
)

// A Backend keeps tables. Its methods are called from many goroutines; what it
// refuses is a board.Refusal. A call whose ctx ends before it has begun does
// nothing; one that has begun may be broken off and then leaves nothing.
type Backend interface {
	// Enter makes an agent known, or changes its crew and role: a board.joined event,
	// unless nothing is new.
	Enter(ctx context.Context, a board.Agent) error

	// Create adds a table, checked already, for an agent, which is a lead: a
	// board.created event. A name that is taken is ErrStatement, one table too many
	// ErrQuota.
	Create(ctx context.Context, a board.Agent, t board.Table) (Done, error)

	// Run runs one statement within the limits.
	Run(ctx context.Context, a board.Agent, s board.Statement) (Done, error)

	// Claim takes a row.
	Claim(ctx context.Context, a board.Agent, c board.Claim) (Done, error)

	// Announced and Acknowledge are those of a Gateway.
	Announced(ctx context.Context, a board.Agent, limit int) ([]board.Announcement, error)
	Acknowledge(ctx context.Context, a board.Agent, upto int64) error

	// Tables, by name.
	Tables(ctx context.Context) ([]board.Table, error)

	// Written is how often each agent wrote and read which table in statements that
	// are in the log as board.written or board.created.
	Written(ctx context.Context) ([]board.Count, error)

	// Dump writes all tables with a board.Dumper.
	Dump(ctx context.Context, w io.Writer) error

	// Changed is the number of the last change to each table. The numbers are
	// sequences of the board's stream, and grow.
	Changed(ctx context.Context) (map[string]uint64, error)

	// Watch calls moved for each change to tables, also those of other processes, in
	// order, until ctx ends.
	Watch(ctx context.Context, moved func(number uint64, tables []string))

	// Close is called once, when no other call is under way.
	Close() error
}

// Done is a call that was carried out.
type Done struct {
	Result board.Result
	Uses   []board.Use // what it counts as
	Logged bool        // an event counts it already
}
