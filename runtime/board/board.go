package board

import (
	"context"
	"io"
	"time"
)

// A Board is the tables of one swarm.
type Board interface {
	// Join makes an agent known, or gives a known one another crew or role, and
	// returns its way to the tables. Announcements from before the first Join are not
	// delivered to it; they can be read.
	Join(ctx context.Context, a Agent) (Gateway, error)

	// Tables describes all tables, by name.
	Tables(ctx context.Context) ([]Table, error)

	// Counts is what has been done, by agent, table and kind: exactly the calls that
	// were answered, and possibly some whose answer was lost in a crash.
	Counts(ctx context.Context) ([]Count, error)

	// Dump writes all tables in the canonical form: equal boards write equal bytes.
	Dump(ctx context.Context, w io.Writer) error

	// Close ends the waits, finishes what has begun, and lets go of the store. It may
	// be called again. The log stays open.
	Close() error
}

// A Gateway is one agent's way to the tables. Whoever holds it acts as that agent.
// Every method may be called from any goroutine. Errors: ErrDenied, ErrStatement,
// ErrTime, ErrTooLarge, ErrQuota, ErrBusy, ErrDuplicate, ErrUnknown, ErrFull,
// ErrClosed, ctx's, and those of the store.
type Gateway interface {
	// Agent is who this is.
	Agent() Agent

	// Do runs one statement.
	Do(ctx context.Context, s Statement) (Result, error)

	// Claim takes the next row that is open and meant for this agent: the one of the
	// highest priority, of those the first. The result has one row, or none.
	Claim(ctx context.Context, c Claim) (Result, error)

	// Wait returns the number of the last change to any of the tables (all of them, if
	// none is named) as soon as it is beyond after, or when limit has passed. limit is
	// at most Limits.Wait; 0 is that.
	Wait(ctx context.Context, after uint64, limit time.Duration, tables ...string) (uint64, error)

	// Announced is what others announced to this agent and it has not acknowledged,
	// oldest first, at most Limits.Announced of them.
	Announced(ctx context.Context) ([]Announcement, error)

	// Acknowledge says that the agent has seen all announcements up to one. To be
	// called when they are in what the agent's next life will start from.
	Acknowledge(ctx context.Context, upto int64) error
}

// A Statement is one statement of SQL.
type Statement struct {
	SQL  string
	Args []any // for its parameters in order: nil, bool, string, int64, float64

	// ID makes it safe to send the statement again: a write whose ID is in the log is
	// an ErrDuplicate. The zero ID is no ID.
	ID ID
}

// A Result is the rows of a statement and what it changed.
type Result struct {
	Columns []string
	Rows    [][]any // nil, string, int64, float64
	Changed int64   // rows inserted, updated and removed
	Change  uint64  // number of the change; 0 if nothing was changed
}

// A Claim asks for a row of a table that has a holder.
type Claim struct {
	Table string // Subtasks or Assign
	Crew  string // of this crew's rows and those of no crew; empty: the agent's own crew
	ID    ID     // as that of a Statement
}

// An Announcement is a row of the announce table.
type Announcement struct {
	ID    int64  // grows in the order of the log
	Agent string // who wrote it; filled by the store
	Crew  string // that agent's crew then
	At    string // when, in the form of TimeFormat
	Body  string
}

// A Kind is what is counted.
type Kind string

// The kinds. A statement counts once for each table that it reads and once for the
// one that it writes. A refusal counts once for each table it was about, or once
// for no table.
const (
	Read   Kind = "read"
	Write  Kind = "write"
	Denial Kind = "denial" // ErrDenied
	Limit  Kind = "limit"  // ErrTime, ErrTooLarge, ErrQuota, ErrBusy
	Fault  Kind = "fault"  // ErrStatement: wrong SQL, a broken constraint
)

// A Use is that an agent used a table in some way.
type Use struct {
	Agent string `json:"agent"`
	Table string `json:"table,omitempty"`
	Kind  Kind   `json:"kind"`
}

// A Count is how often.
type Count struct {
	Use
	N int64 `json:"n"`
}
