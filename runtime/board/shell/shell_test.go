package shell

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/door"
	"dure/runtime/board/sqlite"
	eventsqlite "dure/runtime/event/sqlite"
)

// openDoor opens a board with a door for a worker and a lead.
func openDoor(t *testing.T) (worker, lead string) {
	t.Helper()
	dir := t.TempDir()
	limits := board.DefaultLimits()
	limits.Time = 200 * time.Millisecond
	log, err := eventsqlite.Open(t.Context(), eventsqlite.Config{Path: filepath.Join(dir, "log.db")})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "board.db"), Log: log, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
	open := func(a board.Agent) string {
		g, err := b.Join(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, a.Name)
		d, err := door.Open(g, door.Config{Path: path, Limits: limits, Tables: b.Tables})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return path
	}
	return open(board.Agent{Name: "ann", Crew: "red", Role: board.Worker}), open(board.Agent{Name: "lead", Role: board.Lead})
}

// sqlCall runs the command.
func sqlCall(opt Options, in string, args ...string) (code int, out, problems string) {
	var o, p bytes.Buffer
	code = opt.Run(context.Background(), args, strings.NewReader(in), &o, &p)
	return code, o.String(), p.String()
}

func TestSQL(t *testing.T) {
	ann, lead := openDoor(t)
	for _, c := range []struct {
		name string
		opt  Options
		in   string
		args []string
		code int
		want string // in the output, or what is said of the problem
	}{
		{"insert", Options{args: []string{"lexer", "it's \"ready\"\n"}}, "", []string{"insert into notes (topic, body) values ($1, $2)"}, 0, "1 changed (change "},
		{"select", Options{}, "", []string{"select id, agent, subtask, body from notes"}, 0, "id  agent  subtask  body\n1   ann    NULL     it's \"ready\"\\n\n"},
		{"json", Options{asJSON: true}, "", []string{"select topic, 1, 0.5, null from notes"}, 0, `"rows":[["lexer",1,0.5,null]],"changed":0,"change":0}`},
		{"from the input", Options{}, "select 6 * 7 as answer", []string{"-"}, 0, "answer\n42\n"},
		{"no argument", Options{}, "select 6 * 7 as answer", nil, 0, "42"},
		{"argument from the input", Options{argStdin: true}, "line 1\nline 2", []string{"select length($1) as n"}, 0, "13"},
		{"no rows", Options{}, "", []string{"select id from notes where id < 0"}, 0, "no rows"},
		{"nothing to claim", Options{claim: "subtasks"}, "", nil, 0, "no rows"},
		{"tables", Options{tables: true}, "", nil, 0, "announce: What all agents"},
		{"wait", Options{wait: "notes,announce", long: time.Second}, "", nil, 0, "\n"},
		{"wrong", Options{}, "", []string{"select frm"}, Failed, "no such column: frm"},
		{"denied", Options{}, "", []string{"drop table notes"}, Denied, "denied"},
		{"too long", Options{}, "", []string{"with recursive r (n) as (select 1 union all select n + 1 from r) select count(*) from r"}, Limited, "took too long"},
		{"two calls", Options{tables: true}, "", []string{"select 1"}, Usage, "one of them"},
		{"input twice", Options{argStdin: true}, "x", nil, Usage, "standard input"},
		{"a bad id", Options{id: "x"}, "", []string{"select 1"}, Usage, "--id"},
	} {
		c.opt.socket = ann
		code, out, problems := sqlCall(c.opt, c.in, c.args...)
		said := out
		if c.code != 0 {
			said = problems
			if out != "" {
				t.Errorf("%s: prints %q", c.name, out)
			}
		}
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%s: code %d, want %d; %q %q", c.name, code, c.code, out, problems)
		}
	}
	again := Options{socket: lead, id: "0123456789abcdef0123456789abcdef"}
	for _, want := range []int{0, Duplicate} {
		if code, _, problems := sqlCall(again, "", "insert into subtasks (title) values ('one')"); code != want {
			t.Errorf("code %d, want %d: %s", code, want, problems)
		}
	}
	if code, out, _ := sqlCall(Options{socket: ann, claim: "subtasks"}, ""); code != 0 || !strings.Contains(out, "claimed") {
		t.Errorf("%d %q", code, out)
	}
	for _, socket := range []string{"", "/nowhere/board.sock"} {
		if code, _, problems := sqlCall(Options{socket: socket}, "", "select 1"); code != NoBoard || problems == "" {
			t.Errorf("%q: %d %q", socket, code, problems)
		}
	}
}
