package boardtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"dure/runtime/board"
	"dure/runtime/event"
)

func claim(t testing.TB, g board.Gateway, c board.Claim) board.Result {
	t.Helper()
	r, err := g.Claim(limited(t), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// of is a column of the only row of a result.
func of(r board.Result, column string) any {
	i := slices.Index(r.Columns, column)
	if len(r.Rows) != 1 || i < 0 {
		return fmt.Sprintf("%d rows, column %d", len(r.Rows), i)
	}
	return r.Rows[0][i]
}

// Who gets what, in which order (row 21: a helper sees its own crew's queue).
func testClaim(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	pl, a, o := join(t, b, planner), join(t, b, ann), join(t, b, bob)
	none := claim(t, a, board.Claim{Table: board.Subtasks})
	if len(none.Rows) != 0 || none.Change != 0 {
		t.Errorf("got %+v", none)
	}
	for _, row := range []string{
		"(null, null, 0, 'any')", "('red', null, 0, 'red')", "('blue', null, 9, 'blue, urgent')", "('red', 'bob', 9, 'bob in red')",
		"(null, 'bob', 1, 'bob')", "('red', 'ann', 5, 'ann, first')",
	} {
		do(t, pl, "insert into subtasks (to_crew, to_agent, priority, title) values "+row)
	}
	do(t, pl, "insert into subtasks (title, state) values ('parked', 'parked')")
	for i, c := range []struct {
		who  board.Gateway
		crew string
		want any
	}{
		{a, "", "ann, first"}, {a, "", "any"}, {a, "", "red"}, {o, "", "blue, urgent"}, {o, "", "bob"}, {o, "red", "bob in red"},
	} {
		r := claim(t, c.who, board.Claim{Table: board.Subtasks, Crew: c.crew})
		if of(r, "title") != c.want || of(r, "holder") != c.who.Agent().Name || of(r, "state") != board.Claimed || r.Change == 0 {
			t.Errorf("claim %d: got %+v, want %v", i+1, r, c.want)
		}
		if at, _ := of(r, "held_at").(string); len(at) != len(board.TimeFormat) {
			t.Errorf("claim %d: held at %v", i+1, of(r, "held_at"))
		}
	}
	for _, g := range []board.Gateway{a, o, pl} {
		if r := claim(t, g, board.Claim{Table: board.Subtasks}); len(r.Rows) != 0 {
			t.Errorf("%s got %+v", g.Agent().Name, r)
		}
	}
	for _, name := range []string{board.Notes, "nothing", "", "notes; drop table notes", "sqlite_master"} {
		if _, err := a.Claim(limited(t), board.Claim{Table: name}); err == nil {
			t.Errorf("claim of %q: taken", name)
		}
	}
	do(t, pl, "insert into assign (to_agent, body) values ('bob', 'do it')")
	if r := claim(t, a, board.Claim{Table: board.Assign}); len(r.Rows) != 0 {
		t.Errorf("got %+v", r)
	}
	if r := claim(t, o, board.Claim{Table: board.Assign}); of(r, "body") != "do it" {
		t.Errorf("got %+v", r)
	}
	rebuilt(t, p, b)
}

// However many claim at once, a row goes to one.
func testClaimRace(t *testing.T, p Place) {
	const agents, tasks = 30, 150
	b := p.Open(t, Options{})
	pl := join(t, b, planner)
	for i := range tasks {
		do(t, pl, "insert into subtasks (title, priority) values ($1, $2)", fmt.Sprint("task ", i), int64(i%7))
	}
	var mu sync.Mutex
	got := make(map[any][]string)
	var wg sync.WaitGroup
	for i := range agents {
		g := join(t, b, board.Agent{Name: fmt.Sprint("w", i), Role: board.Worker})
		wg.Go(func() {
			for {
				r, err := g.Claim(limited(t), board.Claim{Table: board.Subtasks})
				if err != nil {
					t.Error(err)
					return
				}
				if len(r.Rows) == 0 {
					return
				}
				mu.Lock()
				got[of(r, "id")] = append(got[of(r, "id")], g.Agent().Name)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(got) != tasks {
		t.Errorf("%d of %d claimed", len(got), tasks)
	}
	for id, who := range got {
		if len(who) != 1 {
			t.Errorf("row %v went to %v", id, who)
		}
		wantRows(t, pl, fmt.Sprintf("[[%s claimed]]", who[0]), "select holder, state from subtasks where id = $1", id)
	}
	rebuilt(t, p, b)
}

// What a holder may do.
func testHolder(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	pl, a, o, l := join(t, b, planner), join(t, b, ann), join(t, b, bob), join(t, b, lead)
	do(t, pl, "insert into subtasks (title) values ('one')")
	refused(t, pl, board.ErrDenied, "update subtasks set state = 'claimed'")
	claim(t, a, board.Claim{Table: board.Subtasks})
	refused(t, o, board.ErrDenied, "update subtasks set state = 'done'")
	refused(t, a, board.ErrDenied, "update subtasks set title = 'easier'")
	refused(t, a, board.ErrDenied, "update subtasks set state = 'done', title = 'easier'")
	refused(t, a, board.ErrDenied, "update subtasks set holder = 'bob'")
	refused(t, a, board.ErrDenied, "update subtasks set holder = null")
	refused(t, pl, board.ErrDenied, "update subtasks set holder = 'bob'")
	refused(t, l, board.ErrDenied, "update subtasks set holder = 'bob'")
	refused(t, a, board.ErrDenied, "delete from subtasks")
	do(t, a, "update subtasks set result = 'half'")
	// Given back, it can be claimed by another.
	if r := do(t, a, "update subtasks set state = 'open'"); r.Changed != 1 {
		t.Errorf("%d rows", r.Changed)
	}
	wantRows(t, a, "[[open <nil> <nil> half]]", "select state, holder, held_at, result from subtasks")
	refused(t, a, board.ErrDenied, "update subtasks set state = 'done'")
	if r := claim(t, o, board.Claim{Table: board.Subtasks}); of(r, "holder") != "bob" {
		t.Errorf("got %+v", r)
	}
	do(t, o, "update subtasks set state = 'done', result = 'all'")
	do(t, pl, "update subtasks set state = 'open' where id = 1")
	wantRows(t, a, "[[open <nil>]]", "select state, holder from subtasks")
	rebuilt(t, p, b)
}

// A write that is sent again with its ID is not done again.
func testAgain(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	g := join(t, b, ann)
	s := board.Statement{SQL: "insert into notes (topic, body) values ('t', 'b')", ID: event.NewID()}
	if _, err := g.Do(limited(t), s); err != nil {
		t.Fatal(err)
	}
	_, err := g.Do(limited(t), s)
	wantErr(t, err, board.ErrDuplicate)
	do(t, join(t, b, planner), "insert into subtasks (title) values ('one'), ('two')")
	c := board.Claim{Table: board.Subtasks, ID: event.NewID()}
	if _, err := g.Claim(limited(t), c); err != nil {
		t.Fatal(err)
	}
	_, err = g.Claim(limited(t), c)
	wantErr(t, err, board.ErrDuplicate)
	// Among others that go on.
	var wg sync.WaitGroup
	for i := range 20 {
		o := join(t, b, board.Agent{Name: fmt.Sprint("w", i), Role: board.Worker})
		wg.Go(func() {
			if _, err := try(o, "insert into notes (topic, body) values ('t', 'other')"); err != nil {
				t.Error(err)
			}
			if _, err := o.Do(limited(t), s); err == nil {
				t.Error("done again")
			}
		})
	}
	wg.Wait()
	wantRows(t, g, "[[1] [20]]", "select count(*) from notes group by body order by body")
	wantRows(t, g, "[[1]]", "select count(*) from subtasks where holder = 'ann'")
	closeIt(t, b)
	b = p.Open(t, Options{})
	_, err = join(t, b, ann).Do(limited(t), s)
	wantErr(t, err, board.ErrDuplicate)
	rebuilt(t, p, b)
}
