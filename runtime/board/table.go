package board

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Type is what a column holds. There are no others: what all stores keep exactly,
// and agents can write without a codec.
type Type string

// The types.
const (
	Text    Type = "text"    // UTF-8 without NUL
	Integer Type = "integer" // 64 bits, signed
	Real    Type = "real"    // 64 bits, finite
)

// Names of columns that the store fills. Every table begins with the first four; a
// table with a holder ends with the last three.
const (
	ColID     = "id"      // integer: 1, 2, 3, ..., in the order of the log, never used again
	ColAgent  = "agent"   // text: who wrote the row
	ColCrew   = "crew"    // text: that agent's crew when it wrote the row, or null
	ColAt     = "at"      // text: when, in the form of TimeFormat
	ColState  = "state"   // text: one of the States; the row's writer, the holder and the lead set it
	ColHolder = "holder"  // text: the agent that claimed the row, or null
	ColHeldAt = "held_at" // text: when it did, or null
	ColResult = "result"  // text: what came of it; set like state
)

// TimeFormat is how times are written: UTC, to the millisecond, so that they sort.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// States of a row in a table with a holder. Claim takes open rows and makes them
// claimed; the holder is cleared when a row is set to open again.
const (
	Open    = "open"
	Claimed = "claimed"
	Done    = "done"
	Dropped = "dropped"
	Parked  = "parked" // not given out until it is open again
)

// States lists them.
func States() []string { return []string{Open, Claimed, Done, Dropped, Parked} }

// A Column is one that agents write.
type Column struct {
	Name     string   `json:"name"`
	Type     Type     `json:"type"`
	Required bool     `json:"required,omitempty"` // not null
	Default  any      `json:"default,omitempty"`  // nil, string, int64 or float64, of the type
	Values   []string `json:"values,omitempty"`   // of a text: nothing else is taken
	Earlier  bool     `json:"earlier,omitempty"`  // of an integer: null, or less than the row's id, so that rows form a tree
	Doc      string   `json:"doc,omitempty"`
}

// A Table is one table. What it says is all there is to it: each store makes the
// same of it.
type Table struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc,omitempty"`
	Columns []Column `json:"columns"`           // without those that the store fills
	Unique  []string `json:"unique,omitempty"`  // columns that no two rows of one agent share, where all are there
	Index   []string `json:"index,omitempty"`   // columns that are looked up, an index each
	Writers []Role   `json:"writers,omitempty"` // who may insert; empty: everybody
	Holder  bool     `json:"holder,omitempty"`  // rows can be claimed
	Lead    bool     `json:"lead,omitempty"`    // the lead may change and remove what others wrote
	Fixed   bool     `json:"fixed,omitempty"`   // rows are never changed nor removed, not even by their writer
}

// Names of the five tables.
const (
	Announce = "announce"
	Assign   = "assign"
	Notes    = "notes"
	Subtasks = "subtasks"
	Landed   = "landed"
)

// Standard is the five tables that every board begins with.
func Standard() []Table {
	return []Table{
		{Name: Announce, Fixed: true,
			Doc: "What all agents, or those of one crew, must know. Each gets it once, by its next turn.",
			Columns: []Column{
				{Name: "to_crew", Type: Text, Doc: "the crew it is for; null: everybody"},
				{Name: "key", Type: Text, Doc: "of the writer's choice; a second row with it is refused, so that sending again is safe"},
				{Name: "body", Type: Text, Required: true, Doc: "the announcement"},
			}, Unique: []string{"key"}},
		{Name: Assign, Holder: true, Lead: true, Writers: []Role{Lead, Planner},
			Doc: "Who works on what: an order from the lead or a planner to a crew or an agent.",
			Columns: []Column{
				{Name: "to_crew", Type: Text, Doc: "the crew it is for; null: any"},
				{Name: "to_agent", Type: Text, Doc: "the agent it is for; null: any of the crew"},
				{Name: "crew_lead", Type: Text, Doc: "the agent that leads the crew in this"},
				{Name: "subtask", Type: Integer, Doc: "id in subtasks"},
				{Name: "priority", Type: Integer, Required: true, Default: int64(0), Doc: "larger is claimed earlier"},
				{Name: "body", Type: Text, Required: true, Doc: "what is to be done, and how it is checked"},
			}, Index: []string{"subtask"}},
		{Name: Notes,
			Doc: "What agents found out: facts, decisions, dead ends.",
			Columns: []Column{
				{Name: "topic", Type: Text, Required: true, Doc: "few words to find it by"},
				{Name: "subtask", Type: Integer, Doc: "id in subtasks"},
				{Name: "body", Type: Text, Required: true, Doc: "the finding, and how it is known"},
			}, Index: []string{"topic", "subtask"}},
		{Name: Subtasks, Holder: true, Lead: true,
			Doc: "The tree of tasks. Rows that are open are there to be claimed.",
			Columns: []Column{
				{Name: "parent", Type: Integer, Earlier: true, Doc: "id of the task that this is a part of; null: the goal itself"},
				{Name: "to_crew", Type: Text, Doc: "the crew it is for; null: any"},
				{Name: "to_agent", Type: Text, Doc: "the agent it is for; null: any of the crew"},
				{Name: "priority", Type: Integer, Required: true, Default: int64(0), Doc: "larger is claimed earlier"},
				{Name: "title", Type: Text, Required: true, Doc: "the task in a line"},
				{Name: "body", Type: Text, Doc: "what is to be done, and how it is checked"},
			}, Index: []string{"parent"}},
		{Name: Landed, Fixed: true, Writers: []Role{Lead, Merger},
			Doc: "What reached main. Written by who lands work, not by who did it.",
			Columns: []Column{
				{Name: "commit_id", Type: Text, Required: true, Doc: "of the commit on main"},
				{Name: "author", Type: Text, Required: true, Doc: "the agent whose work it is"},
				{Name: "branch", Type: Text, Doc: "where it came from"},
				{Name: "subtask", Type: Integer, Doc: "id in subtasks"},
				{Name: "summary", Type: Text, Required: true, Doc: "what it does, in a line"},
			}, Unique: []string{"commit_id"}, Index: []string{"subtask"}},
	}
}

// All is every column of the table, in order, with those that the store fills.
func (t Table) All() []Column {
	cols := []Column{
		{Name: ColID, Type: Integer, Required: true, Doc: "filled: 1, 2, 3, ..."},
		{Name: ColAgent, Type: Text, Required: true, Doc: "filled: who wrote the row"},
		{Name: ColCrew, Type: Text, Doc: "filled: that agent's crew"},
		{Name: ColAt, Type: Text, Required: true, Doc: "filled: when, UTC"},
	}
	cols = append(cols, t.Columns...)
	if t.Holder {
		cols = append(cols,
			Column{Name: ColState, Type: Text, Required: true, Default: Open, Values: States(), Doc: "open rows can be claimed"},
			Column{Name: ColHolder, Type: Text, Doc: "filled by claim: who works on it"},
			Column{Name: ColHeldAt, Type: Text, Doc: "filled by claim: since when"},
			Column{Name: ColResult, Type: Text, Doc: "what came of it"})
	}
	return cols
}

// Stamped reports whether the store alone fills a column.
func Stamped(column string) bool {
	switch column {
	case ColID, ColAgent, ColCrew, ColAt, ColHolder, ColHeldAt:
		return true
	}
	return false
}

// HolderSets reports whether the holder of a row, who did not write it, may set a
// column of it.
func HolderSets(column string) bool { return column == ColState || column == ColResult }

// Check says what is wrong with a table, or nil.
func (t Table) Check() error {
	if err := checkIdentifier(t.Name); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	if len(t.Columns) == 0 || len(t.Columns) > maxColumns {
		return fmt.Errorf("table %s: %w: %d columns, want 1 to %d", t.Name, ErrInvalid, len(t.Columns), maxColumns)
	}
	seen := make(map[string]bool)
	for i, c := range t.All() {
		if err := checkIdentifier(c.Name); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
		if seen[c.Name] {
			if i >= 4 && Stamped(c.Name) || t.Holder && HolderSets(c.Name) {
				return fmt.Errorf("table %s: %w: column %s is there already: the store fills it", t.Name, ErrInvalid, c.Name)
			}
			return fmt.Errorf("table %s: %w: two columns %s", t.Name, ErrInvalid, c.Name)
		}
		seen[c.Name] = true
		if err := c.check(); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	for _, name := range slices.Concat(t.Unique, t.Index) {
		if !seen[name] {
			return fmt.Errorf("table %s: %w: no column %s", t.Name, ErrInvalid, name)
		}
	}
	return nil
}

func (c Column) check() error {
	ok := false
	switch d := c.Default.(type) {
	case nil:
		ok = true
	case string:
		ok = c.Type == Text && (len(c.Values) == 0 || slices.Contains(c.Values, d))
	case int64:
		ok = c.Type == Integer
	case float64:
		ok = c.Type == Real
	}
	switch {
	case c.Type != Text && c.Type != Integer && c.Type != Real:
		return fmt.Errorf("column %s: %w: type %q, want %s, %s or %s", c.Name, ErrInvalid, c.Type, Text, Integer, Real)
	case !ok, c.Earlier && c.Default != nil:
		return fmt.Errorf("column %s: %w: default %v is not of type %s", c.Name, ErrInvalid, c.Default, c.Type)
	case len(c.Values) > 0 && c.Type != Text, c.Earlier && c.Type != Integer:
		return fmt.Errorf("column %s: %w: not for type %s", c.Name, ErrInvalid, c.Type)
	}
	return nil
}

// Bounds of what the lead can create.
const (
	maxIdentifier = 48 // bytes
	maxColumns    = 50
)

// checkIdentifier takes what needs no quoting anywhere: lower-case letters, digits
// and '_', beginning with a letter, and no word of SQL. Names that a store could
// take for its own are not to be had.
func checkIdentifier(name string) error {
	for i, r := range name {
		if !(r >= 'a' && r <= 'z' || i > 0 && (r == '_' || r >= '0' && r <= '9')) {
			return fmt.Errorf("%w: name %q: want lower-case letters, digits and _, beginning with a letter", ErrInvalid, name)
		}
	}
	switch {
	case name == "" || len(name) > maxIdentifier:
		return fmt.Errorf("%w: name %q: want 1 to %d letters", ErrInvalid, name, maxIdentifier)
	case strings.HasPrefix(name, "sqlite_"), strings.HasPrefix(name, "pg_"), strings.HasPrefix(name, "pragma_"),
		strings.HasPrefix(name, "json_"), strings.HasPrefix(name, "dure_"), strings.HasPrefix(name, "fts"):
		return fmt.Errorf("%w: name %q: its beginning is the store's own", ErrInvalid, name)
	case slices.Contains(reserved, name):
		return fmt.Errorf("%w: name %q is a word of SQL; choose another", ErrInvalid, name)
	}
	return nil
}

// MarshalJSON implements json.Marshaler: a default keeps its type.
func (c Column) MarshalJSON() ([]byte, error) {
	type plain Column
	if c.Default != nil {
		c.Default = Value{c.Default}
	}
	return json.Marshal(plain(c))
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Column) UnmarshalJSON(data []byte) error {
	type plain Column
	aux := struct {
		*plain
		Default Value `json:"default"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(data, &aux); err != nil {
		return fmt.Errorf("column: %w", err)
	}
	c.Default = aux.Default.V
	return nil
}
