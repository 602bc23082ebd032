package board

import (
	"fmt"
	"slices"
)

// A Deed is what a statement is about to do to one row. Old and New are the row's
// values in the order of Table.All, nil for none.
type Deed struct {
	Agent Agent
	At    string // the time of the statement, in the form of TimeFormat
	Claim bool   // it is the update of a Claim
	Op    Op
	Old   []any
	New   []any
}

// Judge says why an agent may not do this to a row, or nil. It sees the row as it
// was and as it would be, so that the form of the SQL does not matter.
func (t Table) Judge(d Deed) error {
	deny := func(format string, args ...any) error {
		return Refuse(ErrDenied, []string{t.Name}, "%s: %s", t.Name, fmt.Sprintf(format, args...))
	}
	if d.Op != Insert && t.Fixed {
		return deny("its rows stay as they are; insert another")
	}
	if d.Op == Insert {
		if why := t.judgeInsert(d); why != "" {
			return deny("%s", why)
		}
		return nil
	}
	own := d.Old[1] == d.Agent.Name
	lead := t.Lead && d.Agent.Role == Lead
	if d.Op == Delete {
		if !own && !lead {
			return deny("row %v was written by %v; only its writer may remove it", d.Old[0], d.Old[1])
		}
		return nil
	}
	if why := t.judgeUpdate(d, own || lead); why != "" {
		return deny("row %v: %s", d.Old[0], why)
	}
	return nil
}

func (t Table) judgeInsert(d Deed) string {
	if len(t.Writers) > 0 && !slices.Contains(t.Writers, d.Agent.Role) {
		return fmt.Sprintf("only %v may insert here, you are %s", t.Writers, d.Agent.Role)
	}
	var crew any
	if d.Agent.Crew != "" {
		crew = d.Agent.Crew
	}
	switch {
	case d.New[1] != d.Agent.Name:
		return fmt.Sprintf("you are %s and cannot write as %v; leave the column agent out", d.Agent.Name, d.New[1])
	case d.New[2] != crew:
		return "leave the column crew out, it is filled"
	case d.New[3] != d.At:
		return "leave the column at out, it is filled"
	}
	if !t.Holder {
		return ""
	}
	state, holder, since := t.holding(d.New)
	if holder != nil || since != nil || state == Claimed {
		return "a row begins without a holder; claim it"
	}
	return ""
}

func (t Table) judgeUpdate(d Deed, mine bool) string {
	cols := t.All()
	for i, c := range cols {
		if d.Old[i] != d.New[i] && i < 4 {
			return fmt.Sprintf("column %s is filled and stays", c.Name)
		}
	}
	if d.Claim {
		return ""
	}
	holds := false
	if t.Holder {
		_, was, since := t.holding(d.Old)
		state, holder, sinceNow := t.holding(d.New)
		holds = was == d.Agent.Name
		cleared := state == Open && holder == nil && sinceNow == nil
		if (holder != was || since != sinceNow) && !cleared {
			return "its holder is set by claim"
		}
		if state == Claimed && holder == nil {
			return "claim it, so that it has a holder"
		}
	}
	if mine {
		return ""
	}
	for i, c := range cols {
		if d.Old[i] == d.New[i] || holds && (HolderSets(c.Name) || Stamped(c.Name)) {
			continue
		}
		if holds {
			return fmt.Sprintf("you hold it and may set %s and %s, not %s", ColState, ColResult, c.Name)
		}
		return fmt.Sprintf("it was written by %v; only its writer may change it", d.Old[1])
	}
	if holds {
		return ""
	}
	// Nothing changes, which still would tell that one may.
	return fmt.Sprintf("it was written by %v; only its writer may change it", d.Old[1])
}

// holding is the state, holder and held_at of a row of a table with a holder.
func (t Table) holding(row []any) (state, holder, since any) {
	n := len(row)
	return row[n-4], row[n-3], row[n-2]
}
