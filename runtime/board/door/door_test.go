package door_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/door"
	boardsqlite "dure/runtime/board/sqlite"
	eventsqlite "dure/runtime/event/sqlite"
)

// house is a board with a door for an agent.
type house struct {
	board  board.Board
	limits board.Limits
	dir    string
}

// quick is a limit for statements that it must end, and patience for all others.
const (
	quick    = 300 * time.Millisecond
	patience = time.Minute
)

func newHouse(t *testing.T, statement time.Duration) *house {
	t.Helper()
	dir := t.TempDir()
	log, err := eventsqlite.Open(t.Context(), eventsqlite.Config{Path: filepath.Join(dir, "events.db")})
	if err != nil {
		t.Fatal(err)
	}
	l := board.DefaultLimits()
	l.Time = statement
	b, err := boardsqlite.Open(t.Context(), boardsqlite.Config{Path: filepath.Join(dir, "board.db"), Log: log, Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
	return &house{b, l, dir}
}

func (h *house) door(t *testing.T, name string) (*door.Client, string) {
	t.Helper()
	role := board.Worker
	if name == "lead" {
		role = board.Lead
	}
	g, err := h.board.Join(t.Context(), board.Agent{Name: name, Crew: "red", Role: role})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.dir, name+".sock")
	d, err := door.Open(g, door.Config{Path: path, Limits: h.limits, Tables: h.board.Tables})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	c := door.NewClient(path)
	t.Cleanup(c.Close)
	return c, path
}

// What goes through the door is the same as without one.
func TestCalls(t *testing.T) {
	h := newHouse(t, patience)
	ann, _ := h.door(t, "ann")
	lead, _ := h.door(t, "lead")
	ctx := t.Context()
	do := func(c *door.Client, sql string, args ...any) board.Result {
		t.Helper()
		r, err := c.Do(ctx, board.Statement{SQL: sql, Args: args})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	text := "a \"quoted\" <text> & \u2028 두레\n💥"
	r := do(ann, "insert into notes (topic, subtask, body) values ($1, $2, $3) returning agent, topic, subtask, body, null, 0.5", "t", int64(1<<60), text)
	want := []any{"ann", "t", int64(1 << 60), text, nil, 0.5}
	if len(r.Rows) != 1 || !reflect.DeepEqual(r.Rows[0], want) || r.Changed != 1 || r.Change == 0 {
		t.Errorf("got %+v, want %v", r, want)
	}
	if r := do(ann, "select id from notes where id < 0"); len(r.Rows) != 0 || !reflect.DeepEqual(r.Columns, []string{"id"}) {
		t.Errorf("got %+v", r)
	}
	do(lead, "insert into subtasks (title) values ('one')")
	got, err := ann.Claim(ctx, board.Claim{Table: board.Subtasks})
	if err != nil || len(got.Rows) != 1 {
		t.Errorf("claim: %+v, %v", got, err)
	}
	n, err := ann.Wait(ctx, 0, time.Second, board.Notes)
	if err != nil || n < r.Change {
		t.Errorf("wait: %d, %v", n, err)
	}
	tables, err := ann.Tables(ctx)
	if err != nil || len(tables) != 5 || tables[0].Columns[0].Name != "id" {
		t.Errorf("tables: %+v, %v", tables, err)
	}
}

func wantRefused(t *testing.T, c *door.Client, statements map[string]error) {
	t.Helper()
	for sql, want := range statements {
		_, err := c.Do(t.Context(), board.Statement{SQL: sql})
		if !errors.Is(err, want) || len(err.Error()) < len(want.Error())+10 || strings.Count(err.Error(), want.Error()) != 1 {
			t.Errorf("%s: got %v, want %v and why", sql, err, want)
		}
	}
}

// Errors keep their reason and say what would be right.
func TestErrors(t *testing.T) {
	h := newHouse(t, patience)
	ann, _ := h.door(t, "ann")
	wantRefused(t, ann, map[string]error{
		"drop table notes":                     board.ErrDenied,
		"insert into notes (agent) values (1)": board.ErrStatement,
		"select * frm":                         board.ErrStatement,
		"with recursive r (n) as (select 1 union all select n + 1 from r) select n from r": board.ErrTooLarge,
	})
	hurried, _ := newHouse(t, quick).door(t, "ann")
	wantRefused(t, hurried, map[string]error{
		"with recursive r (n) as (select 1 union all select n + 1 from r) select count(*) from r": board.ErrTime,
	})
	_, err := ann.Do(t.Context(), board.Statement{SQL: "select 1", Args: []any{[]string{"a"}}})
	if !errors.Is(err, board.ErrStatement) {
		t.Errorf("got %v", err)
	}
	_, err = ann.Wait(t.Context(), 0, time.Hour)
	if !errors.Is(err, board.ErrStatement) {
		t.Errorf("got %v", err)
	}
	gone := door.NewClient(filepath.Join(h.dir, "nobody.sock"))
	if _, err := gone.Do(t.Context(), board.Statement{SQL: "select 1"}); err == nil || !strings.Contains(err.Error(), "nobody.sock") {
		t.Errorf("got %v", err)
	}
}

// post sends a body as it is.
func post(t *testing.T, path, route string, body io.Reader) (int, string) {
	t.Helper()
	dial := func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }
	c := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := c.Post("http://board"+route, "application/json", body)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// Hostile bodies are refused, and nothing of them is done.
func TestHostileBodies(t *testing.T) {
	h := newHouse(t, patience)
	ann, path := h.door(t, "ann")
	insert := `{"sql": "insert into notes (topic, body) values ('t', 'b')"`
	for name, body := range map[string]string{
		"nothing": "", "no JSON": "select 1", "an array": "[]", "null args of a kind": `{"sql": "select $1", "args": [{}]}`,
		"an identity": insert + `, "agent": "bob"}`, "another field": insert + `, "role": "lead"}`,
		"two values": insert + "} " + insert + "}", "cut off": insert, "a bad id": insert + `, "id": "xyz"}`,
		"a number for sql": `{"sql": 1}`, "args no list": insert + `, "args": "a"}`,
		"a number beyond 64 bits": `{"sql": "select $1", "args": [99999999999999999999]}`,
		"infinite":                `{"sql": "select $1", "args": [1e999]}`,
		"deep":                    `{"sql": "select 1", "args": ` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		"large":                   `{"sql": "` + strings.Repeat("x", 9<<20) + `"}`,
		"not UTF-8 as NUL":        `{"sql": "insert into notes (topic, body) values ('t', '\u0000')"}`,
	} {
		status, answer := post(t, path, "/v1/sql", strings.NewReader(body))
		if status < 400 || status >= 500 || !strings.Contains(answer, `"reason"`) {
			t.Errorf("%s: %d %.200s", name, status, answer)
		}
	}
	for _, route := range []string{"/", "/v1/sql/", "/v1/other", "/v1/tables"} {
		if status, _ := post(t, path, route, strings.NewReader(insert+"}")); status == 200 {
			t.Errorf("%s: taken", route)
		}
	}
	r, err := ann.Do(t.Context(), board.Statement{SQL: "select count(*) from notes"})
	if err != nil || fmt.Sprint(r.Rows) != "[[0]]" {
		t.Errorf("%v, %v", r.Rows, err)
	}
}

// An agent that opens many connections, and says nothing, keeps out itself alone.
func TestManyConnections(t *testing.T) {
	h := newHouse(t, patience)
	_, path := h.door(t, "ann")
	bob, _ := h.door(t, "bob")
	for range 100 {
		c, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			break // the queue is full
		}
		defer c.Close()
	}
	if _, err := bob.Do(t.Context(), board.Statement{SQL: "select 1"}); err != nil {
		t.Error(err)
	}
}

func TestManyCalls(t *testing.T) {
	h := newHouse(t, patience)
	var wg sync.WaitGroup
	for i := range 20 {
		c, _ := h.door(t, fmt.Sprint("w", i))
		wg.Go(func() {
			for range 10 {
				if _, err := c.Do(context.Background(), board.Statement{SQL: "insert into notes (topic, body) values ('t', me())"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	c, _ := h.door(t, "ann")
	r, err := c.Do(t.Context(), board.Statement{SQL: "select count(*), count(distinct agent), sum(agent <> body) from notes"})
	if err != nil || fmt.Sprint(r.Rows) != "[[200 20 0]]" {
		t.Errorf("%v, %v", r.Rows, err)
	}
}

// A socket that a killed process left is replaced; a living one and other files are
// not.
func TestPath(t *testing.T) {
	h := newHouse(t, patience)
	g, err := h.board.Join(t.Context(), board.Agent{Name: "ann", Role: board.Worker})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.dir, "a.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if _, err := door.Open(g, door.Config{Path: path, Limits: h.limits}); err == nil {
		t.Error("a living socket was replaced")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := door.Open(g, door.Config{Path: path, Limits: h.limits})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is still there")
	}
	file := filepath.Join(h.dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(h.dir, strings.Repeat("x", 120)), filepath.Join(h.dir, "no", "folder")} {
		if _, err := door.Open(g, door.Config{Path: path, Limits: h.limits}); err == nil {
			t.Errorf("%s: taken", path)
		}
	}
	if data, err := os.ReadFile(file); !bytes.Equal(data, []byte("mine")) || err != nil {
		t.Error("another file was changed")
	}
}
