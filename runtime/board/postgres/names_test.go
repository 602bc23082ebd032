package postgres

import (
	"slices"
	"strings"
	"testing"

	"dure/runtime/board"
)

// statements, and what is certain of them: the tables that are read, the one that is
// written with a plus; "?" for nothing.
var statements = map[string]string{
	"select 1":                                                               "",
	"select * from notes":                                                    "notes",
	"SELECT * FROM Notes":                                                    "notes",
	"select notes.body from notes":                                           "notes",
	"select 'from announce' from notes":                                      "notes",
	"select 'it''s' from notes":                                              "notes",
	"select * from notes n join announce a on true":                          "announce notes",
	"select distinct body from notes":                                        "notes",
	"select (select max(id) from subtasks) from notes":                       "notes subtasks",
	"select * from notes, announce":                                          "?",
	"select 1 as notes":                                                      "?",
	"select body as notes from announce":                                     "?",
	"with notes as (select 1) select * from notes":                           "?",
	"select * from board.notes":                                              "?",
	`select * from "notes"`:                                                  "?",
	`select * from u&"\006eotes"`:                                            "?",
	"select $$from$$ from notes":                                             "?",
	"select e'\\' from notes":                                                "?",
	"select /* from notes */ 1":                                              "?",
	"select 1 -- from notes":                                                 "?",
	"select extract(year from notes) from announce":                          "?",
	"select 1 is distinct from notes from announce":                          "?",
	"select 'open from notes":                                                "?",
	"select * from only notes":                                               "?",
	"select * from notes where id = $1":                                      "notes",
	"select * from notes where body = $2 and id = $1":                        "notes",
	"select $a$from$a$ from notes":                                           "?",
	"select 1 as a$1 from notes":                                             "?",
	"select $1$$from$$ from notes":                                           "?",
	"select * from notes for update":                                         "notes",
	"insert into notes (topic, body) values ($1, $2)":                        "+notes",
	"Insert Into Notes (topic, body) values ('a', '')":                       "+notes",
	"insert into notes (topic, body) select topic, body from announce":       "announce +notes",
	"insert into notes (topic, body) select topic, body from notes":          "+notes",
	"update notes set body = ''":                                             "+notes",
	"update notes n set body = ''":                                           "+notes",
	"update notes set body = a.body from announce a":                         "announce +notes",
	"delete from notes where id in (select id from subtasks)":                "+notes subtasks",
	"insert into board.notes (topic, body) values ('', '')":                  "?",
	"update only notes set body = ''":                                        "?",
	"delete from notes using announce":                                       "?",
	"merge into notes n using (select 1) v on true when matched then delete": "?",
	"delete":             "?",
	"insert into nobody": "?",
}

func TestNamed(t *testing.T) {
	tables := make(map[string]*shape)
	for _, s := range board.Standard() {
		tables[s.Name] = newShape(s)
	}
	for sql, want := range statements {
		touched, certain := named(sql, tables)
		var names []string
		for name, writes := range touched {
			if writes {
				name = "+" + name
			}
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.TrimPrefix(a, "+"), strings.TrimPrefix(b, "+")) })
		got := strings.Join(names, " ")
		if !certain {
			got = "?"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
}
