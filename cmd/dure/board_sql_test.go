package main

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
)

// openDoor opens a board with a door for a worker and a lead.
func openDoor(t *testing.T) (worker, lead string) {
	t.Helper()
	dir := t.TempDir()
	limits := board.DefaultLimits()
	limits.Time = 200 * time.Millisecond
	st, err := openBoard(t.Context(), "sqlite", dir, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.close(); err != nil {
			t.Error(err)
		}
	})
	open := func(a board.Agent) string {
		g, err := st.board.Join(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, a.Name)
		d, err := door.Open(g, door.Config{Path: path, Limits: limits, Tables: st.board.Tables})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return path
	}
	return open(board.Agent{Name: "ann", Crew: "red", Role: board.Worker}), open(board.Agent{Name: "lead", Role: board.Lead})
}

// sqlCall runs the command.
func sqlCall(opt sqlOptions, in string, args ...string) (code int, out, problems string) {
	var o, p bytes.Buffer
	code = runSQL(context.Background(), args, opt, strings.NewReader(in), &o, &p)
	return code, o.String(), p.String()
}

func TestSQL(t *testing.T) {
	ann, lead := openDoor(t)
	for _, c := range []struct {
		name string
		opt  sqlOptions
		in   string
		args []string
		code int
		want string // in the output, or what is said of the problem
	}{
		{"insert", sqlOptions{args: []string{"lexer", "it's \"ready\"\n"}}, "", []string{"insert into notes (topic, body) values ($1, $2)"}, 0, "1 changed (change "},
		{"select", sqlOptions{}, "", []string{"select id, agent, subtask, body from notes"}, 0, "id  agent  subtask  body\n1   ann    NULL     it's \"ready\"\\n\n"},
		{"json", sqlOptions{asJSON: true}, "", []string{"select topic, 1, 0.5, null from notes"}, 0, `"rows":[["lexer",1,0.5,null]],"changed":0,"change":0}`},
		{"from the input", sqlOptions{}, "select 6 * 7 as answer", []string{"-"}, 0, "answer\n42\n"},
		{"no argument", sqlOptions{}, "select 6 * 7 as answer", nil, 0, "42"},
		{"argument from the input", sqlOptions{argStdin: true}, "line 1\nline 2", []string{"select length($1) as n"}, 0, "13"},
		{"no rows", sqlOptions{}, "", []string{"select id from notes where id < 0"}, 0, "no rows"},
		{"nothing to claim", sqlOptions{claim: "subtasks"}, "", nil, 0, "no rows"},
		{"tables", sqlOptions{tables: true}, "", nil, 0, "announce: What all agents"},
		{"wait", sqlOptions{wait: "notes,announce", long: time.Second}, "", nil, 0, "\n"},
		{"wrong", sqlOptions{}, "", []string{"select frm"}, sqlFailed, "no such column: frm"},
		{"denied", sqlOptions{}, "", []string{"drop table notes"}, sqlDenied, "denied"},
		{"too long", sqlOptions{}, "", []string{"with recursive r (n) as (select 1 union all select n + 1 from r) select count(*) from r"}, sqlLimited, "took too long"},
		{"two calls", sqlOptions{tables: true}, "", []string{"select 1"}, sqlUsage, "one of them"},
		{"input twice", sqlOptions{argStdin: true}, "x", nil, sqlUsage, "standard input"},
		{"a bad id", sqlOptions{id: "x"}, "", []string{"select 1"}, sqlUsage, "--id"},
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
	again := sqlOptions{socket: lead, id: "0123456789abcdef0123456789abcdef"}
	for _, want := range []int{0, sqlDuplicate} {
		if code, _, problems := sqlCall(again, "", "insert into subtasks (title) values ('one')"); code != want {
			t.Errorf("code %d, want %d: %s", code, want, problems)
		}
	}
	if code, out, _ := sqlCall(sqlOptions{socket: ann, claim: "subtasks"}, ""); code != 0 || !strings.Contains(out, "claimed") {
		t.Errorf("%d %q", code, out)
	}
	for _, socket := range []string{"", "/nowhere/board.sock"} {
		if code, _, problems := sqlCall(sqlOptions{socket: socket}, "", "select 1"); code != sqlNoBoard || problems == "" {
			t.Errorf("%q: %d %q", socket, code, problems)
		}
	}
}

// A wrong command line has the exit code that the help names.
func TestSQLUsage(t *testing.T) {
	for _, args := range [][]string{{"sql", "a", "b"}, {"sql", "--nope"}, {"sql", "--for", "x"}} {
		root := newRoot()
		root.SetArgs(args)
		var coded *exitError
		if err := root.ExecuteContext(t.Context()); !errors.As(err, &coded) || coded.code != sqlUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
}
