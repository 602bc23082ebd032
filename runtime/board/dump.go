package board

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// A Dumper writes the canonical form of a board: a line for each table by name, its
// description, then its rows by id, each an array of JSON in the order of
// Table.All; at last the agents by name with what they have acknowledged. Stores of
// equal content write equal bytes.
type Dumper struct{ w *bufio.Writer }

// NewDumper writes to w.
func NewDumper(w io.Writer) *Dumper { return &Dumper{bufio.NewWriterSize(w, 1<<16)} }

// Table begins a table.
func (d *Dumper) Table(t Table) error {
	line, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("dump table %s: %w", t.Name, err)
	}
	_, err = fmt.Fprintf(d.w, "table %s\n", line)
	return err
}

// Row writes a row of the table that was begun.
func (d *Dumper) Row(values []any) error {
	line := []byte{'['}
	for i, v := range values {
		if i > 0 {
			line = append(line, ',')
		}
		var err error
		if line, err = AppendValue(line, v); err != nil {
			return fmt.Errorf("dump: %w", err)
		}
	}
	_, err := d.w.Write(append(line, ']', '\n'))
	return err
}

// A Member is an agent that has joined.
type Member struct {
	Agent
	Seen int64 `json:"seen"` // the announcement up to which it needs none
}

// End writes the agents, and flushes.
func (d *Dumper) End(members []Member) error {
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	for _, m := range members {
		line, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("dump agent %s: %w", m.Name, err)
		}
		if _, err := fmt.Fprintf(d.w, "agent %s\n", line); err != nil {
			return err
		}
	}
	return d.w.Flush()
}

// Sum adds up counts of the same use, and sorts them by agent, table and kind.
func Sum(counts []Count) []Count {
	sums := make(map[Use]int64)
	for _, c := range counts {
		sums[c.Use] += c.N
	}
	out := make([]Count, 0, len(sums))
	for u, n := range sums {
		out = append(out, Count{u, n})
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
