package board

import "dure/runtime/event"

// Names of the streams that a board appends to. Tables are folded from the first,
// counts of what changed nothing from the second; the third has their sums now and
// then, so that not all of the second is read when a board is opened.
const (
	Stream      = "board"
	UsageStream = "board/usage"
	SumStream   = "board/usage/sums"
)

// A Written is one statement's changes. Small ones are in the event; others in a
// file beside the tables, or where else a store keeps them, flushed before the event
// was appended.
type Written struct {
	Agent   string   `json:"agent"`
	Uses    []Use    `json:"uses"` // what the statement counts as
	Changes []Change `json:"changes,omitempty"`
	Away    *Away    `json:"away,omitempty"`
}

// Away is where the changes of a large write are: JSON, a Change a line.
type Away struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // 64 hexadecimal digits
	Lines  int64  `json:"lines"`
}

// Op is what a change does to a row.
type Op string

// The three.
const (
	Insert Op = "insert"
	Update Op = "update"
	Delete Op = "delete"
)

// A Change is what became of one row.
type Change struct {
	Table string `json:"table"`
	Op    Op     `json:"op"`
	ID    int64  `json:"id"`
	Row   Row    `json:"row,omitempty"` // insert: all columns but id that are not null; update: those that changed
}

// A Row is values by column.
type Row map[string]Value

// Types of events.
var (
	registry = event.NewRegistry()

	WrittenType      = event.MustRegister[Written](registry, "board.written", 1)
	CreatedType      = event.MustRegister[Created](registry, "board.created", 1)
	JoinedType       = event.MustRegister[Agent](registry, "board.joined", 1)
	AcknowledgedType = event.MustRegister[Acknowledged](registry, "board.acknowledged", 1)
	UsedType         = event.MustRegister[Used](registry, "board.used", 1)
	SummedType       = event.MustRegister[Summed](registry, "board.summed", 1)
)

// Created is a table that the lead added.
type Created struct {
	Agent string `json:"agent"`
	Table Table  `json:"table"`
}

// Acknowledged is that an agent has seen announcements.
type Acknowledged struct {
	Agent string `json:"agent"`
	Upto  int64  `json:"upto"`
}

// Used is what was done since the last one, but for what a Written says.
type Used struct {
	Counts []Count `json:"counts"`
}

// Summed is what all events of UsageStream up to one come to. Large sums are several
// events, appended together.
type Summed struct {
	Upto   event.Sequence `json:"upto"`
	Parts  int            `json:"parts"` // how many events the sums are
	Counts []Count        `json:"counts"`
}

// Registry knows the types of the board's events.
func Registry() *event.Registry { return registry }

// Set adds a column's value.
func (c *Change) Set(column string, v any) {
	if c.Row == nil {
		c.Row = make(Row)
	}
	c.Row[column] = Value{v}
}
