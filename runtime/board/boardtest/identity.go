package boardtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"dure/runtime/board"
)

// Row 7: the columns that say who and when fill themselves.
func testStamps(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	a := join(t, b, ann)
	do(t, a, "insert into notes (topic, body) values ('a', 'b')")
	do(t, a, "insert into notes (agent, crew, topic, body) values ('ann', 'red', 'a', 'own name')")
	do(t, a, "insert into notes (topic, body) select topic, body || '2' from notes where id = 1")
	wantRows(t, a, "[[1 ann red b] [2 ann red own name] [3 ann red b2]]", "select id, agent, crew, body from notes order by id")
	at := rows(t, a, "select at from notes where id = 1")[0][0].(string)
	if len(at) != len(board.TimeFormat) || !strings.HasSuffix(at, "Z") {
		t.Errorf("at is %q", at)
	}
	for _, sql := range []string{
		"insert into notes (agent, topic, body) values ('bob', 'a', 'x')",
		"insert into notes (agent, topic, body) values (null, 'a', 'x')",
		"insert into notes (agent, topic, body) values ('ANN', 'a', 'x')",
		"insert into notes (crew, topic, body) values ('blue', 'a', 'x')",
		"insert into notes (crew, topic, body) values (null, 'a', 'x')",
		"insert into notes (at, topic, body) values ('2020-01-01T00:00:00.000Z', 'a', 'x')",
		"insert into notes (id, topic, body) values (9000000000000000000, 'a', 'x')",
		"insert into notes (id, topic, body) values (1, 'a', 'x')",
		"insert into notes (id, topic, body) values (-1, 'a', 'x')",
		"update notes set agent = 'bob'", "update notes set agent = 'ann'", "update notes set id = 9", "update notes set crew = 'blue'",
		"update notes set at = '2020-01-01T00:00:00.000Z'",
		"insert into subtasks (title, holder) values ('x', 'ann')", "insert into subtasks (title, state) values ('x', 'claimed')",
		"insert into subtasks (title, held_at) values ('x', 'now')",
	} {
		if _, err := try(a, sql); err == nil {
			t.Errorf("%s: taken", sql)
		}
	}
	wantRows(t, a, "[[3]]", "select count(*) from notes")
	wantRows(t, a, "[[0]]", "select count(*) from subtasks")
	// The crew is that of the time of writing.
	moved := board.Agent{Name: "ann", Crew: "blue", Role: board.Worker}
	g := join(t, b, moved)
	do(t, g, "insert into notes (topic, body) values ('a', 'moved')")
	wantRows(t, g, "[[red] [red] [red] [blue]]", "select crew from notes order by id")
	rebuilt(t, p, b)
}

// Row 13: rows of others stay as they are.
func testOwners(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	l, a, o := join(t, b, lead), join(t, b, ann), join(t, b, bob)
	do(t, a, "insert into notes (topic, body) values ('t', 'of ann')")
	do(t, a, "insert into subtasks (title) values ('of ann')")
	do(t, a, "insert into announce (body) values ('of ann')")
	before := dump(t, b)
	for _, g := range []board.Gateway{o, l} {
		for _, sql := range []string{
			"update notes set body = 'x'", "delete from notes", "update notes set body = body",
			"update notes set body = 'x' where id in (select id from notes)",
			"insert into notes (id, topic, body) values (1, 't', 'x') on conflict (id) do update set body = 'x'",
			"with v as (select id from notes) delete from notes where id in (select id from v)",
			"update announce set body = 'x'", "delete from announce",
		} {
			refused(t, g, board.ErrDenied, sql)
		}
	}
	refused(t, o, board.ErrDenied, "update subtasks set title = 'x'")
	refused(t, o, board.ErrDenied, "update subtasks set state = 'done'")
	refused(t, o, board.ErrDenied, "delete from subtasks")
	refused(t, a, board.ErrDenied, "update announce set body = 'x'")
	refused(t, a, board.ErrDenied, "delete from announce")
	refused(t, a, board.ErrDenied, "insert into assign (body) values ('x')")
	refused(t, a, board.ErrDenied, "insert into landed (commit_id, author, summary) values ('c', 'ann', 's')")
	same(t, "the board", dump(t, b), before)
	// A statement that meets one foreign row changes none.
	do(t, o, "insert into notes (topic, body) values ('t', 'of bob')")
	refused(t, o, board.ErrDenied, "update notes set body = 'mine now'")
	wantRows(t, o, "[[of ann] [of bob]]", "select body from notes order by id")
	// The lead sets others' tasks, and stays who it is.
	do(t, l, "update subtasks set state = 'parked', priority = 3 where id = 1")
	wantRows(t, a, "[[ann parked 3]]", "select agent, state, priority from subtasks")
	refused(t, l, board.ErrDenied, "update subtasks set agent = 'lead'")
	do(t, l, "delete from subtasks where id = 1")
	rebuilt(t, p, b)
}

// forge makes a statement by which one agent tries to write as another, or to
// change what another wrote. tag marks what it would write.
func forge(rng *rand.Rand, me, other, tag string, victim int64) string {
	forms := []string{
		"insert into notes (agent, topic, body) values ('%[2]s', 't', '%[3]s')",
		"insert into notes (agent, topic, body) select '%[2]s', 't', '%[3]s'",
		"insert into notes (agent, topic, body) select agent, topic, '%[3]s' from notes where agent = '%[2]s'",
		"with w (x) as (select '%[2]s') insert into notes (agent, topic, body) select x, 't', '%[3]s' from w",
		"insert into notes (topic, body) values ('t', '%[3]s') returning '%[2]s' as agent",
		"insert into notes (agent, topic, body) values ('%[1]s', 't', '%[3]s'), ('%[2]s', 't', '%[3]s')",
		"insert into notes (id, agent, topic, body) values (%[4]d, '%[2]s', 't', '%[3]s')",
		"insert into notes (id, topic, body) values (%[4]d, 't', 'x') on conflict (id) do update set body = '%[3]s'",
		"insert into notes (id, topic, body) values (%[4]d, 't', 'x') on conflict (id) do update set agent = '%[1]s', body = '%[3]s'",
		"update notes set agent = '%[2]s', body = '%[3]s' where agent = '%[1]s'",
		"update notes set agent = '%[1]s', body = '%[3]s' where agent = '%[2]s'",
		"update notes set body = '%[3]s' where id = %[4]d",
		"update notes set body = '%[3]s' where agent = '%[2]s' or agent = '%[1]s'",
		"update notes set body = (select '%[3]s' where agent = '%[2]s') where id = %[4]d",
		"update notes set topic = '%[2]s', body = '%[3]s' where id = (select max(id) from notes where agent = '%[2]s')",
		"with v as (select id from notes where agent = '%[2]s') update notes set body = '%[3]s' where id in (select id from v)",
		"delete from notes where id = %[4]d",
		"insert into announce (agent, body) values ('%[2]s', '%[3]s')",
		"insert into announce (agent, crew, body) values ('%[2]s', null, '%[3]s')",
		"insert into announce (body) values ('%[3]s'); update announce set agent = '%[2]s'",
		"insert into subtasks (agent, title) values ('%[2]s', '%[3]s')",
		"insert into subtasks (title, holder, state) values ('%[3]s', '%[2]s', 'claimed')",
		"insert into landed (agent, commit_id, author, summary) values ('%[2]s', '%[3]s', 'a', 's')",
		"insert into notes (\"agent\", topic, body) values ('%[2]s', 't', '%[3]s')",
		"INSERT INTO notes (AGENT, topic, body) VALUES ('%[2]s', 't', '%[3]s')",
		"/* %[2]s */ insert into notes -- \n (agent, topic, body) values ('%[2]s' , 't' , '%[3]s' )",
		"insert into notes (agent, topic, body) values (coalesce(null, '%[2]s'), 't', '%[3]s')",
		"insert into notes (agent, topic, body) values (lower('%[2]s'), 't', '%[3]s') on conflict do nothing",
		"insert into notes (at, agent, crew, topic, body) select at, agent, crew, topic, '%[3]s' from notes where id = %[4]d",
		"update subtasks set holder = '%[2]s', state = 'claimed', body = '%[3]s'",
	}
	return fmt.Sprintf(forms[rng.IntN(len(forms))], me, other, tag, victim)
}

// Row 7: of 1,000 forgeries none is stored under a wrong id.
func testForgeries(t *testing.T, p Place) {
	b := p.Open(t, Options{Limits: func(l *board.Limits) { l.PerMinute = 100_000 }})
	names := []string{"ann", "bob", "cleo", "dan", "lead"}
	gates := make([]board.Gateway, len(names))
	var victims []int64
	for i, name := range names {
		role := board.Worker
		if name == "lead" {
			role = board.Lead
		}
		gates[i] = join(t, b, board.Agent{Name: name, Crew: "c" + fmt.Sprint(i%2), Role: role})
		r := do(t, gates[i], "insert into notes (topic, body) values ('t', $1) returning id", "genuine-"+name)
		victims = append(victims, r.Rows[0][0].(int64))
	}
	rng := rand.New(rand.NewPCG(7, 7))
	author, taken := make(map[string]string), 0
	for i := range 1000 {
		me := rng.IntN(len(names))
		other := (me + 1 + rng.IntN(len(names)-1)) % len(names)
		tag := fmt.Sprintf("forged-%d.", i)
		author[tag] = names[me]
		if _, err := try(gates[me], forge(rng, names[me], names[other], tag, victims[other])); err == nil {
			taken++
		}
	}
	wrong := 0
	check := func(sql string) {
		for _, row := range rows(t, gates[0], sql) {
			tag, agent := fmt.Sprint(row[1]), fmt.Sprint(row[0])
			who, ok := author[tag]
			if strings.HasPrefix(tag, "genuine-") {
				who, ok = strings.TrimPrefix(tag, "genuine-"), true
			}
			if !ok || who != agent {
				wrong++
				t.Errorf("%q is stored as of %s, it is of %s", tag, agent, who)
			}
		}
	}
	check("select agent, body from notes where body not like 'genuine%' limit 5000")
	check("select agent, body from announce")
	check("select agent, title from subtasks")
	check("select agent, commit_id from landed")
	// What was there is there: an own row may have been changed by its own agent.
	for i, name := range names {
		got := fmt.Sprint(rows(t, gates[i], "select agent from notes where id = $1", victims[i]))
		if got != "[["+name+"]]" {
			wrong++
			t.Errorf("row %d of %s: %s", victims[i], name, got)
		}
	}
	t.Logf("1000 forgeries, %d of them statements that write as their own agent, %d stored under a wrong id", taken, wrong)
	rebuilt(t, p, b)
}

// Row 13: named attacks. Each is refused, changes nothing, and the board goes on.
func testDenials(t *testing.T, p Place) {
	if len(p.Attacks) < 40 {
		t.Errorf("%d attacks, want 40", len(p.Attacks))
	}
	b := p.Open(t, Options{})
	a, o, l := join(t, b, ann), join(t, b, bob), join(t, b, lead)
	do(t, a, "insert into notes (topic, body) values ('t', 'of ann')")
	do(t, l, "insert into subtasks (title) values ('goal')")
	before := dump(t, b)
	seen := make(map[string]bool)
	for _, attack := range p.Attacks {
		if seen[attack.Name] {
			t.Errorf("two attacks %q", attack.Name)
		}
		seen[attack.Name] = true
		who := []board.Gateway{o}
		if attack.Lead {
			who = append(who, l)
		}
		want := attack.Want
		if want == nil {
			want = board.ErrDenied
		}
		for _, g := range who {
			refused(t, g, want, attack.SQL, attack.Args...)
		}
		if dump(t, b) != before {
			t.Fatalf("%s: %s: the board has changed", attack.Name, attack.SQL)
		}
	}
	wantRows(t, o, "[[of ann]]", "select body from notes")
	t.Logf("%d attacks refused", len(p.Attacks))
}
