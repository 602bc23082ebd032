package boardtest

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"dure/runtime/board"
	"dure/runtime/board/door"
)

// Row 6: many agents at once, each over the socket that its shell has: who calls is
// known by the socket, results and refusals are those of the board.
func testShell(t *testing.T, p Place) {
	const agents, each = 20, 5
	b, dir := p.Open(t, Options{}), t.TempDir()
	l := join(t, b, lead)
	for i := range agents * each {
		do(t, l, "insert into subtasks (title) values ($1)", fmt.Sprint("part ", i))
	}
	var wg sync.WaitGroup
	for i := range agents {
		a := board.Agent{Name: fmt.Sprint("w", i), Crew: "red", Role: board.Worker}
		d, err := door.Open(join(t, b, a), door.Config{Path: filepath.Join(dir, a.Name), Limits: board.DefaultLimits()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}()
		wg.Go(func() {
			c := door.NewClient(filepath.Join(dir, a.Name))
			defer c.Close()
			for range each {
				r, err := c.Claim(limited(t), board.Claim{Table: board.Subtasks})
				if err != nil || of(r, "holder") != a.Name {
					t.Errorf("%s: got %+v, %v", a.Name, r, err)
					return
				}
				if _, err := c.Do(limited(t), board.Statement{SQL: "insert into notes (topic, body) values ('t', $1)", Args: []any{a.Name}}); err != nil {
					t.Errorf("%s: %v", a.Name, err)
				}
				_, err = c.Do(limited(t), board.Statement{SQL: "insert into notes (agent, topic, body) values ('lead', 't', 'forged')"})
				if !errors.Is(err, board.ErrDenied) {
					t.Errorf("%s: got %v", a.Name, err)
				}
				r, err = c.Do(limited(t), board.Statement{SQL: "select count(*) from subtasks where holder = me()"})
				if err != nil || len(r.Rows) != 1 {
					t.Errorf("%s: got %+v, %v", a.Name, r, err)
				}
			}
		})
	}
	wg.Wait()
	wantRows(t, l, fmt.Sprintf("[[%d %d]]", agents*each, agents), "select count(*), count(distinct agent) from notes where agent = body")
	wantRows(t, l, fmt.Sprintf("[[%d]]", agents*each), "select count(*) from subtasks where state = 'claimed'")
	rebuilt(t, p, b)
}
