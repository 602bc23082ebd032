package boardtest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dure/runtime/board"
)

// Row 4: a fresh board has exactly the five tables, and says what every column is.
func testTables(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	tables, err := b.Tables(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	want := board.Standard()
	slices.SortFunc(want, func(a, b board.Table) int { return strings.Compare(a.Name, b.Name) })
	if !reflect.DeepEqual(tables, want) {
		t.Errorf("got %+v", tables)
	}
	var names []string
	g := join(t, b, ann)
	for _, tab := range tables {
		names = append(names, tab.Name)
		var cols []string
		for _, c := range tab.All() {
			cols = append(cols, c.Name)
			if c.Doc == "" {
				t.Errorf("%s.%s is not documented", tab.Name, c.Name)
			}
		}
		if tab.Doc == "" {
			t.Errorf("%s is not documented", tab.Name)
		}
		if got := do(t, g, "select * from "+tab.Name).Columns; !slices.Equal(got, cols) {
			t.Errorf("%s has the columns %v, want %v", tab.Name, got, cols)
		}
	}
	if got := fmt.Sprint(names); got != "[announce assign landed notes subtasks]" {
		t.Errorf("tables %s", got)
	}
}

// Row 4: what is written comes back.
func testRoundTrip(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	l, pl, w, m := join(t, b, lead), join(t, b, planner), join(t, b, ann), join(t, b, merger)
	do(t, w, "insert into announce (to_crew, key, body) values ('red', 'k1', 'the API has moved')")
	do(t, l, "insert into subtasks (title) values ('the goal')")
	do(t, pl, "insert into subtasks (parent, to_crew, priority, title, body) values (1, 'red', 5, 'the parser', 'all tests pass')")
	do(t, pl, "insert into assign (to_crew, to_agent, crew_lead, subtask, body) values ('red', 'ann', 'paula', 2, 'write it')")
	do(t, w, "insert into notes (topic, subtask, body) values ('lexer', 2, $1)", "it's \"quoted\"\n두레 💥")
	do(t, m, "insert into landed (commit_id, author, branch, subtask, summary) values ('c0ffee', 'ann', 'agent/ann', 2, 'parser')")
	wantRows(t, w, "[[1 ann red red k1 the API has moved]]", "select id, agent, crew, to_crew, key, body from announce")
	wantRows(t, w, "[[1 lead <nil> <nil> <nil> 0 the goal <nil> open <nil> <nil> <nil>] [2 paula red 1 red 5 the parser all tests pass open <nil> <nil> <nil>]]",
		"select id, agent, crew, parent, to_crew, priority, title, body, state, holder, held_at, result from subtasks order by id")
	wantRows(t, w, "[[paula red ann paula 2 0 write it open]]", "select agent, to_crew, to_agent, crew_lead, subtask, priority, body, state from assign")
	wantRows(t, l, "[[lexer 2 it's \"quoted\"\n두레 💥]]", "select topic, subtask, body from notes")
	wantRows(t, w, "[[merge c0ffee ann agent/ann 2 parser]]", "select agent, commit_id, author, branch, subtask, summary from landed")
	r := do(t, w, "update notes set body = 'short' where topic = $1 returning id, body", "lexer")
	if fmt.Sprint(r.Columns, r.Rows, r.Changed) != "[id body] [[1 short]] 1" || r.Change == 0 {
		t.Errorf("got %+v", r)
	}
	if r := do(t, w, "delete from notes where id = 1"); r.Changed != 1 {
		t.Errorf("got %+v", r)
	}
	// The tree of tasks has no cycle: a part comes after what it is a part of.
	refused(t, pl, board.ErrStatement, "update subtasks set parent = 2 where id = 2")
	refused(t, pl, board.ErrStatement, "update subtasks set parent = 7 where id = 2")
	refused(t, pl, board.ErrStatement, "insert into subtasks (parent, title) values (3, 'its own part')")
	refused(t, w, board.ErrStatement, "insert into announce (key, body) values ('k1', 'again')")
	refused(t, w, board.ErrStatement, "insert into notes (topic) values ('no body')")
	refused(t, pl, board.ErrStatement, "update subtasks set state = 'finished' where id = 2")
	refused(t, w, board.ErrStatement, "select nothing from notes")
	refused(t, w, board.ErrStatement, "select * frm notes")
	refused(t, w, board.ErrStatement, "insert into notes (topic, body, subtask) values ('a', 'b', 'not a number')")
	refused(t, w, board.ErrStatement, "")
	refused(t, w, board.ErrStatement, "select $1, $2", "one")
	rebuilt(t, p, b)
}

// Row 5: the lead creates tables, nobody else does.
func testCreate(t *testing.T, p Place) {
	b := p.Open(t, Options{Limits: func(l *board.Limits) { l.Tables = 2 }})
	l := join(t, b, lead)
	const create = "create table lemmas (name text not null, proved integer default 0, weight real default -1.5, tag text default 'it''s')"
	for _, a := range []board.Agent{planner, ann, merger} {
		refused(t, join(t, b, a), board.ErrDenied, create)
	}
	do(t, l, create)
	w := join(t, b, ann)
	do(t, w, "insert into lemmas (name) values ('one')")
	do(t, w, "insert into lemmas (name, proved, weight) values ('two', 1, 3)")
	wantRows(t, w, "[[1 ann red one 0 -1.5 it's] [2 ann red two 1 3 it's]]",
		"select id, agent, crew, name, proved, weight, tag from lemmas order by id")
	refused(t, join(t, b, bob), board.ErrDenied, "update lemmas set proved = 1")
	refused(t, join(t, b, bob), board.ErrDenied, "insert into lemmas (agent, name) values ('ann', 'three')")
	refused(t, l, board.ErrStatement, create)
	for _, sql := range []string{
		"create table", "create table x", "create table x ()", "create table x (a)", "create table x (a blob)",
		"create table x (id integer)", "create table x (agent text)", "create table x (a text, a text)",
		"create table \"X\" (a text)", "create table sqlite_x (a text)", "create table pg_x (a text)", "create table dure_x (a text)",
		"create table x (select text)", "create table x (a integer default 'one')", "create table x (a text default 1)",
	} {
		if _, err := try(l, sql); err == nil {
			t.Errorf("%s: taken", sql)
		}
	}
	for _, sql := range []string{
		"create table x (a text) as select 1", "create table x as select * from notes", "create table if not exists x (a text)",
		"create table x (a text primary key)", "create table x (a text references notes)", "create table x (a text default (me()))",
		"create table main.x (a text)", "create table x (a text); drop table notes", "create temp table x (a text)",
		"create index i on notes (body)", "create view v as select 1", "create trigger g after insert on notes begin select 1; end",
		"drop table lemmas", "alter table lemmas add column b text", "drop table notes",
	} {
		refused(t, l, board.ErrDenied, sql)
	}
	do(t, l, "CREATE TABLE second /* one more */ (a int); -- done")
	refused(t, l, board.ErrQuota, "create table third (a int)")
	tables, err := b.Tables(limited(t))
	if err != nil || len(tables) != 7 {
		t.Errorf("%d tables, %v", len(tables), err)
	}
	rebuilt(t, p, b)
}
