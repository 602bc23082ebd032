package postgres

import (
	"slices"
	"strings"
	"testing"

	"dure/runtime/board"
)

func TestNamed(t *testing.T) {
	tables := make(map[string]*shape)
	for _, s := range board.Standard() {
		tables[s.Name] = newShape(s)
	}
	for sql, want := range map[string]string{
		"select 1":                                         "",
		"select * from notes":                              "notes",
		"SELECT * FROM Notes":                              "notes",
		"select notes.body from notes":                     "notes",
		"select 'from announce' from notes":                "notes",
		"select 'it''s' from notes":                        "notes",
		"select * from notes n join announce a on true":    "announce notes",
		"select distinct body from notes":                  "notes",
		"select (select max(id) from subtasks) from notes": "notes subtasks",
		"select * from notes, announce":                    "?",
		"select 1 as notes":                                "?",
		"select body as notes from announce":               "?",
		"with notes as (select 1) select * from notes":     "?",
		"select * from board.notes":                        "?",
		`select * from "notes"`:                            "?",
		`select * from u&"\006eotes"`:                      "?",
		"select $$from$$ from notes":                       "?",
		"select e'\\' from notes":                          "?",
		"select /* from notes */ 1":                        "?",
		"select 1 -- from notes":                           "?",
		"select extract(year from notes) from announce":    "?",
		"select 1 is distinct from notes from announce":    "?",
		"select 'open from notes":                          "?",
		"select * from only notes":                         "?",
	} {
		reads, certain := named(sql, tables)
		slices.Sort(reads)
		got := strings.Join(reads, " ")
		if !certain {
			got = "?"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
}
