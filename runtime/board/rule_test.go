package board

import (
	"errors"
	"testing"
)

func tableOf(name string) Table {
	for _, t := range Standard() {
		if t.Name == name {
			return t
		}
	}
	return Table{}
}

func TestJudge(t *testing.T) {
	ann, bob := Agent{Name: "ann", Crew: "red", Role: Worker}, Agent{Name: "bob", Role: Worker}
	lead := Agent{Name: "lead", Role: Lead}
	const now, then = "2026-01-02T03:04:05.000Z", "2026-01-01T00:00:00.000Z"
	note := func(id any, agent, crew, at, body any) []any { return []any{id, agent, crew, at, "topic", nil, body} }
	task := func(state, holder, since, result any) []any {
		return []any{int64(1), "ann", "red", then, nil, nil, nil, int64(0), "title", nil, state, holder, since, result}
	}
	own, bobs := note(int64(1), "ann", "red", then, "old"), note(int64(2), "bob", nil, then, "old")
	for _, c := range []struct {
		name  string
		table string
		deed  Deed
		ok    bool
	}{
		{"own insert", Notes, Deed{Agent: ann, At: now, Op: Insert, New: note(int64(3), "ann", "red", now, "b")}, true},
		{"no crew", Notes, Deed{Agent: bob, At: now, Op: Insert, New: note(int64(3), "bob", nil, now, "b")}, true},
		{"another's name", Notes, Deed{Agent: ann, At: now, Op: Insert, New: note(int64(3), "bob", "red", now, "b")}, false},
		{"no name", Notes, Deed{Agent: ann, At: now, Op: Insert, New: note(int64(3), nil, "red", now, "b")}, false},
		{"another crew", Notes, Deed{Agent: ann, At: now, Op: Insert, New: note(int64(3), "ann", "blue", now, "b")}, false},
		{"another time", Notes, Deed{Agent: ann, At: now, Op: Insert, New: note(int64(3), "ann", "red", then, "b")}, false},
		{"own update", Notes, Deed{Agent: ann, At: now, Op: Update, Old: own, New: note(int64(1), "ann", "red", then, "new")}, true},
		{"foreign update", Notes, Deed{Agent: ann, At: now, Op: Update, Old: bobs, New: note(int64(2), "bob", nil, then, "new")}, false},
		{"foreign update of nothing", Notes, Deed{Agent: ann, At: now, Op: Update, Old: bobs, New: bobs}, false},
		{"lead's update of a note", Notes, Deed{Agent: lead, At: now, Op: Update, Old: bobs, New: note(int64(2), "bob", nil, then, "new")}, false},
		{"given away", Notes, Deed{Agent: ann, At: now, Op: Update, Old: own, New: note(int64(1), "bob", "red", then, "old")}, false},
		{"id changed", Notes, Deed{Agent: ann, At: now, Op: Update, Old: own, New: note(int64(9), "ann", "red", then, "old")}, false},
		{"own delete", Notes, Deed{Agent: ann, At: now, Op: Delete, Old: own}, true},
		{"foreign delete", Notes, Deed{Agent: ann, At: now, Op: Delete, Old: bobs}, false},
		{"fixed", Announce, Deed{Agent: ann, At: now, Op: Delete, Old: own}, false},
		{"landed by a worker", Landed, Deed{Agent: ann, At: now, Op: Insert, New: own}, false},
		{"held from the start", Subtasks, Deed{Agent: ann, At: then, Op: Insert, New: task(Open, "ann", then, nil)}, false},
		{"claimed from the start", Subtasks, Deed{Agent: ann, At: then, Op: Insert, New: task(Claimed, nil, nil, nil)}, false},
		{"new task", Subtasks, Deed{Agent: ann, At: then, Op: Insert, New: task(Parked, nil, nil, nil)}, true},
		{"claim", Subtasks, Deed{Agent: bob, Claim: true, Op: Update, Old: task(Open, nil, nil, nil), New: task(Claimed, "bob", now, nil)}, true},
		{"claim by SQL", Subtasks, Deed{Agent: ann, Op: Update, Old: task(Open, nil, nil, nil), New: task(Claimed, "ann", now, nil)}, false},
		{"holder's result", Subtasks, Deed{Agent: bob, Op: Update, Old: task(Claimed, "bob", now, nil), New: task(Done, "bob", now, "all")}, true},
		{"another's result", Subtasks, Deed{Agent: bob, Op: Update, Old: task(Claimed, "cleo", now, nil), New: task(Done, "cleo", now, "all")}, false},
		{"holder lets go", Subtasks, Deed{Agent: bob, Op: Update, Old: task(Open, "bob", now, nil), New: task(Open, nil, nil, nil)}, true},
		{"holder passes on", Subtasks, Deed{Agent: bob, Op: Update, Old: task(Claimed, "bob", now, nil), New: task(Claimed, "cleo", now, nil)}, false},
		{"lead parks", Subtasks, Deed{Agent: lead, Op: Update, Old: task(Open, nil, nil, nil), New: task(Parked, nil, nil, nil)}, true},
		{"lead removes", Subtasks, Deed{Agent: lead, Op: Delete, Old: task(Open, nil, nil, nil)}, true},
	} {
		err := tableOf(c.table).Judge(c.deed)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrDenied) {
			t.Errorf("%s: %v, allowed is %t", c.name, err, c.ok)
		}
	}
}
