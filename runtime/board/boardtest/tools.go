package boardtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"dure/runtime/board"
)

// patience is when a test that waits for something is taken to wait in vain.
const patience = 60 * time.Second

func limited(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Agents of the tests.
var (
	lead    = board.Agent{Name: "lead", Role: board.Lead}
	planner = board.Agent{Name: "paula", Crew: "red", Role: board.Planner}
	ann     = board.Agent{Name: "ann", Crew: "red", Role: board.Worker}
	bob     = board.Agent{Name: "bob", Crew: "blue", Role: board.Worker}
	merger  = board.Agent{Name: "merge", Role: board.Merger}
)

func join(t testing.TB, b board.Board, a board.Agent) board.Gateway {
	t.Helper()
	g, err := b.Join(limited(t), a)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func try(g board.Gateway, sql string, args ...any) (board.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return g.Do(ctx, board.Statement{SQL: sql, Args: args})
}

func do(t testing.TB, g board.Gateway, sql string, args ...any) board.Result {
	t.Helper()
	r, err := try(g, sql, args...)
	if err != nil {
		t.Fatalf("%s, %s: %v", g.Agent().Name, sql, err)
	}
	return r
}

// rows are the rows of a statement that must succeed.
func rows(t testing.TB, g board.Gateway, sql string, args ...any) [][]any {
	t.Helper()
	return do(t, g, sql, args...).Rows
}

func wantRows(t testing.TB, g board.Gateway, want string, sql string, args ...any) {
	t.Helper()
	if got := fmt.Sprint(rows(t, g, sql, args...)); got != want {
		t.Errorf("%s: got %s, want %s", sql, got, want)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// refused is that a statement fails in a certain way.
func refused(t testing.TB, g board.Gateway, want error, sql string, args ...any) {
	t.Helper()
	if _, err := try(g, sql, args...); !errors.Is(err, want) {
		t.Errorf("%s, %s: got error %v, want %v", g.Agent().Name, sql, err, want)
	}
}

func dump(t testing.TB, b board.Board) string {
	t.Helper()
	var out bytes.Buffer
	if err := b.Dump(limited(t), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// same compares without printing what is large.
func same(t testing.TB, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-100)
	t.Fatalf("%s differs at byte %d:\n...%q\nwant\n...%q", what, i, cut(got, from, i+200), cut(want, from, i+200))
}

func cut(s string, from, to int) string { return s[min(from, len(s)):min(to, len(s))] }

func closeIt(t testing.TB, b board.Board) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// rebuilt closes a board and checks that tables made from its log anew are equal.
func rebuilt(t testing.TB, p Place, b board.Board) {
	t.Helper()
	want := dump(t, b)
	counts, err := b.Counts(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	if folded := Folded(t, p.Log); !reflect.DeepEqual(counts, folded) {
		t.Errorf("counts %v, the whole log says %v", counts, folded)
	}
	closeIt(t, b)
	fresh := p.Fresh(t)
	same(t, "the rebuilt board", dump(t, fresh), want)
	again, err := fresh.Counts(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, counts) {
		t.Errorf("counts after the rebuild: %v, want %v", again, counts)
	}
	closeIt(t, fresh)
}
