package boardtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"dure/runtime/board"
	"dure/runtime/event"
)

// Row 32: what is counted is exactly what was done.
func testCounts(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	names := []string{"ann", "bob", "cleo"}
	var mu sync.Mutex
	var want []board.Count
	add := func(agent, table string, kind board.Kind) {
		mu.Lock()
		defer mu.Unlock()
		want = append(want, board.Count{Use: board.Use{Agent: agent, Table: table, Kind: kind}, N: 1})
	}
	type call struct {
		sql  string
		err  error
		uses []board.Use
	}
	calls := []call{
		{"insert into notes (topic, body) values ('t', 'b')", nil, []board.Use{{Table: "notes", Kind: board.Write}}},
		{"update notes set body = 'c' where agent = me()", nil, []board.Use{{Table: "notes", Kind: board.Write}}},
		{"update notes set body = 'c' where id = -1", nil, []board.Use{{Table: "notes", Kind: board.Write}}},
		{"select count(*) from notes", nil, []board.Use{{Table: "notes", Kind: board.Read}}},
		{"select n.id from notes n join announce a on a.id = n.id limit 5", nil, []board.Use{{Table: "notes", Kind: board.Read}, {Table: "announce", Kind: board.Read}}},
		{"insert into subtasks (title) select 't' || count(*) from notes", nil, []board.Use{{Table: "notes", Kind: board.Read}, {Table: "subtasks", Kind: board.Write}}},
		{"select 1", nil, []board.Use{{Kind: board.Read}}},
		{"drop table notes", board.ErrDenied, []board.Use{{Kind: board.Denial}}},
		{"select * frm notes", board.ErrStatement, []board.Use{{Kind: board.Fault}}},
		{"select '" + strings.Repeat("x", 2<<20) + "'", board.ErrTooLarge, []board.Use{{Kind: board.Limit}}},
	}
	var wg sync.WaitGroup
	for w, name := range names {
		g := join(t, b, board.Agent{Name: name, Role: board.Worker})
		rng := rand.New(rand.NewPCG(32, uint64(w)))
		wg.Go(func() {
			for range 60 {
				c := calls[rng.IntN(len(calls))]
				if _, err := try(g, c.sql); !errors.Is(err, c.err) {
					t.Errorf("%s: %v", cut(c.sql, 0, 80), err)
				}
				for _, u := range c.uses {
					add(name, u.Table, u.Kind)
				}
			}
		})
	}
	wg.Wait()
	got, err := b.Counts(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	if sum := board.Sum(want); !reflect.DeepEqual(got, sum) {
		t.Errorf("got  %v\nwant %v", got, sum)
	}
	rebuilt(t, p, b)
}

// Folded is what the whole log counts, however a board keeps its sums.
func Folded(t testing.TB, log event.Log) []board.Count {
	t.Helper()
	var all []board.Count
	each := func(uses ...board.Use) {
		for _, u := range uses {
			all = append(all, board.Count{Use: u, N: 1})
		}
	}
	for _, stream := range []string{board.Stream, board.UsageStream} {
		for e, err := range log.Read(limited(t), stream, 0) {
			if err != nil {
				t.Fatal(err)
			}
			v, err := board.Registry().Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			switch v := v.(type) {
			case board.Written:
				each(v.Uses...)
			case board.Created:
				each(board.Use{Agent: v.Agent, Table: v.Table.Name, Kind: board.Write})
			case board.Used:
				all = append(all, v.Counts...)
			}
		}
	}
	return board.Sum(all)
}

// Tables made of the log anew are the tables, whatever was done.
func testRebuild(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	l, pl := join(t, b, lead), join(t, b, planner)
	gates := []board.Gateway{l, pl, join(t, b, ann), join(t, b, bob), join(t, b, merger)}
	do(t, l, "create table extra (x real, y integer not null default 7, z text)")
	done := 0
	for i := range 400 {
		g := gates[rng.IntN(len(gates))]
		n, text := int64(rng.IntN(40)), fmt.Sprintf("text %d é\n\"%c", i, rune(0x20+rng.IntN(0x2000)))
		var err error
		switch rng.IntN(14) {
		case 0, 1:
			_, err = try(g, "insert into notes (topic, subtask, body) values ($1, $2, 'b'), ('second', null, 'c')", text, n)
		case 2:
			_, err = try(g, "update notes set body = body || $1, subtask = id where id % 3 = $2", text, n%3)
		case 3:
			_, err = try(g, "delete from notes where id = $1", n)
		case 4:
			_, err = try(g, "insert into subtasks (parent, title) values ($1, $2)", max(n, 1), text)
		case 5:
			_, err = g.Claim(limited(t), board.Claim{Table: board.Subtasks})
		case 6:
			_, err = try(g, "update subtasks set state = $1, result = $2 where id = $3", board.States()[rng.IntN(5)], text, n)
		case 7:
			_, err = try(g, "insert into extra (x, z) values ($1, $2)", math.Float64frombits(rng.Uint64()), text)
		case 8:
			_, err = try(g, "update extra set x = y * 2, y = 3 where agent = me()")
		case 9:
			_, err = try(g, "insert into announce (key, body) values ($1, $2)", fmt.Sprint("k", n), text)
		case 10:
			_, err = try(g, "insert into assign (to_agent, body) values ('ann', $1)", text)
		case 11:
			_, err = try(g, "insert into landed (commit_id, author, summary) values ($1, 'ann', 's')", text)
		case 12:
			_, err = try(g, "delete from subtasks where id = $1", n)
		case 13:
			err = g.Acknowledge(limited(t), n/4)
		}
		if err == nil {
			done++
		} else if _, ok := board.KindOf(err); !ok {
			t.Fatal(err)
		}
	}
	if done < 150 {
		t.Errorf("only %d of 400 were done", done)
	}
	rebuilt(t, p, b)
}

// Values come back as they went in, and those that cannot be kept are refused.
func testValues(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	l := join(t, b, lead)
	do(t, l, "create table v (i integer, r real, s text)")
	g := join(t, b, ann)
	for _, v := range []any{int64(math.MinInt64), int64(math.MaxInt64), int64(0), int64(1 << 53), nil} {
		r := do(t, g, "insert into v (i) values ($1) returning i", v)
		if !reflect.DeepEqual(r.Rows[0][0], v) {
			t.Errorf("integer %v came back as %v", v, r.Rows[0][0])
		}
	}
	for _, v := range []any{0.1, 1e300, -1e-300, math.MaxFloat64, math.SmallestNonzeroFloat64, 3.0, -7.0, 1e15, 9007199254740993.0, nil} {
		r := do(t, g, "insert into v (r) values ($1) returning r", v)
		if !reflect.DeepEqual(r.Rows[0][0], v) {
			t.Errorf("real %v came back as %v (%T)", v, r.Rows[0][0], r.Rows[0][0])
		}
	}
	for _, v := range []any{"", " ", "\u0001\u001f\"\\\n\t\r", "\u2028<>&", "\U0010ffff", "null", "1", "1e3", strings.Repeat("두", 50_000), nil} {
		r := do(t, g, "insert into v (s) values ($1) returning s", v)
		if !reflect.DeepEqual(r.Rows[0][0], v) {
			t.Errorf("text %.40q came back as %.40q", v, r.Rows[0][0])
		}
	}
	refused(t, g, board.ErrStatement, "insert into v (s) values ($1)", "a\x00b")
	refused(t, g, board.ErrStatement, "insert into v (s) values ($1)", "\xff")
	refused(t, g, board.ErrStatement, "insert into v (s) values ('a\x00b')")
	refused(t, g, board.ErrStatement, "insert into v (s) values ($1)", []byte("bytes"))
	for _, sql := range []string{"insert into v (r) values (1e308 * 10)", "insert into v (i) values ('a')"} {
		if _, err := try(g, sql); err == nil {
			t.Errorf("%s: taken", sql)
		}
	}
	rebuilt(t, p, b)
}
