package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
	"dure/runtime/event"
	"dure/runtime/event/pgtest"
)

// outside is a transaction of somebody else's, open until commit.
func outside(t testing.TB, url, lock string) (commit func()) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"begin", lock} {
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

func joinAs(t testing.TB, b board.Board, a board.Agent) board.Gateway {
	t.Helper()
	g, err := b.Join(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func worker(n int) board.Agent {
	return board.Agent{Name: fmt.Sprint("w", n), Crew: "c", Role: board.Worker}
}

// Writes that wait are one transaction; each has its own outcome in it, whatever the
// others do: mistakes, denials, limits, quotas, IDs that are there, a statement that
// hangs.
func testGroup(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	log := openLog(t, url)
	limits := func(l *board.Limits) { l.Time, l.Write, l.Stored, l.Value = 2*time.Second, 1<<20, 50_000, 1<<20 }
	b := openBoard(t, url, log, boardtest.Options{Limits: limits})
	ctx := context.Background()
	again := board.Statement{SQL: "insert into notes (topic, body) values ('again', me())", ID: event.NewID()}
	if _, err := joinAs(t, b, ann).Do(ctx, again); err != nil {
		t.Fatal(err)
	}
	const ordinary = "insert into notes (topic, body) values ('t', me())"
	twice := event.NewID()
	kinds := []struct {
		st   board.Statement
		want error
	}{
		{board.Statement{SQL: ordinary}, nil},
		{board.Statement{SQL: "update notes set body = 'x' where agent = 'ann'"}, board.ErrDenied},
		{board.Statement{SQL: ordinary}, nil},
		{board.Statement{SQL: "insert into notes (topic, body) values ('t', 1 / 0)"}, board.ErrStatement},
		{board.Statement{SQL: "insert into notes (topic, body) select 't', repeat"}, board.ErrStatement},
		{board.Statement{SQL: "insert into notes (topic, body) select 't', string_agg('0123456789', '') from generate_series(1, 200000)"}, board.ErrTooLarge},
		{board.Statement{SQL: "insert into notes (topic, body) select 't', string_agg('0123456789', '') from generate_series(1, 6000)"}, board.ErrQuota},
		{board.Statement{SQL: ordinary}, nil},
		{again, board.ErrDuplicate},
		{board.Statement{SQL: "with x as (select 't' as t) insert into notes (topic, body) select t, me() from x"}, nil},
		{board.Statement{SQL: "insert into notes (topic, body) with recursive n (i) as (select 1 union all select i % 7 from n) select 't', max(i)::text from n"}, board.ErrTime},
		{board.Statement{SQL: ordinary, ID: twice}, nil},
		{board.Statement{SQL: ordinary}, nil},
	}
	const rounds = 3
	gates := make([]board.Gateway, rounds*len(kinds))
	for i := range gates {
		gates[i] = joinAs(t, b, worker(i))
	}
	open := outside(t, url, "select position from dure_event.head for update")
	var wg sync.WaitGroup
	for i, g := range gates {
		k := kinds[i%len(kinds)]
		if k.want == board.ErrTime && i > len(kinds) {
			continue // one is enough: they take their turns
		}
		if k.st.ID == twice {
			k.st.ID[0] += byte(i)
		}
		wg.Go(func() {
			if _, err := g.Do(ctx, k.st); !errors.Is(err, k.want) {
				t.Errorf("%s: got %v, want %v", k.st.SQL, err, k.want)
			}
		})
	}
	time.Sleep(100 * time.Millisecond) // most have come by then; how many does not matter
	open()
	wg.Wait()
	good := 0
	for _, k := range kinds {
		if k.want == nil {
			good += rounds
		}
	}
	r, err := gates[0].Do(ctx, board.Statement{SQL: "select count(*), count(distinct agent) from notes where body = agent and topic = 't'"})
	if err != nil || fmt.Sprint(r.Rows) != fmt.Sprintf("[[%d %d]]", good, good) {
		t.Errorf("got %v, %v, want %d rows", r.Rows, err, good)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	sameAfterRebuild(t, url)
}

// Writes that come together share a transaction.
func testGroupsShare(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	b := openBoard(t, url, openLog(t, url), boardtest.Options{})
	gates := make([]board.Gateway, 40)
	for i := range gates {
		gates[i] = joinAs(t, b, worker(i))
	}
	s := newTestStore(t, url)
	transactions := func() (n, events int) {
		err := s.owner.QueryRow(context.Background(), "select count(distinct xmin::text), count(*) from dure_event.events where type = 'board.written'").Scan(&n, &events)
		if err != nil {
			t.Fatal(err)
		}
		return n, events
	}
	open := outside(t, url, "select position from dure_event.head for update")
	// The first is in a transaction that cannot end; what comes meanwhile is the next.
	var wg sync.WaitGroup
	for _, g := range gates {
		wg.Go(func() {
			if _, err := g.Do(context.Background(), board.Statement{SQL: "insert into notes (topic, body) values ('t', 'b')"}); err != nil {
				t.Error(err)
			}
		})
	}
	for s.waiting(t) == 0 { // until it is at the end of the log
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // the others come
	open()
	wg.Wait()
	if n, events := transactions(); events != len(gates) || n > len(gates)/2 {
		t.Errorf("%d events in %d transactions", events, n)
	}
}

// waiting is how many of the agents' sessions wait for a lock.
func (s *store) waiting(t testing.TB) (n int) {
	t.Helper()
	err := s.owner.QueryRow(context.Background(), "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and usename = $1 and datname = current_database()",
		s.ground.agent).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A write that waits for a lock of somebody else's does not hold up those of other
// tables, and is done when the lock is free.
func testLocked(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	b := openBoard(t, url, openLog(t, url), boardtest.Options{Limits: func(l *board.Limits) { l.Time = 500 * time.Millisecond; l.Queue = time.Minute }})
	ctx := context.Background()
	a, o := joinAs(t, b, ann), joinAs(t, b, bob)
	open := outside(t, url, "select pg_advisory_xact_lock(1685418597, 'board.notes'::regclass::int)")
	ended := make(chan error, 3)
	for range cap(ended) {
		go func() {
			_, err := a.Do(ctx, board.Statement{SQL: "insert into notes (topic, body) values ('t', 'b')"})
			ended <- err
		}()
	}
	for range 20 {
		if _, err := o.Do(ctx, board.Statement{SQL: "insert into announce (body) values ('meanwhile')"}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("behind a lock: %v", err)
	default:
	}
	// Time that it waits is not its own: more than its limit is over, and it has not failed.
	time.Sleep(600 * time.Millisecond)
	open()
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	// One that waits longer than the queue may be is not begun; or where the machine is so
	// slow that it was taken for a slow statement, and runs by itself, ends by its limit.
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openBoard(t, url, openLog(t, url), boardtest.Options{Limits: func(l *board.Limits) { l.Queue = 200 * time.Millisecond; l.Time = time.Second }})
	a = joinAs(t, b, ann)
	open = outside(t, url, "select pg_advisory_xact_lock(1685418597, 'board.notes'::regclass::int)")
	if _, err := a.Do(ctx, board.Statement{SQL: "insert into notes (topic, body) values ('t', 'b')"}); !errors.Is(err, board.ErrBusy) && !errors.Is(err, board.ErrTime) {
		t.Errorf("got %v", err)
	}
	// One whose caller has gone waits no longer.
	gone, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := a.Do(gone, board.Statement{SQL: "insert into notes (topic, body) values ('t', 'b')"}); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, board.ErrBusy) && !errors.Is(err, board.ErrTime) {
		t.Errorf("got %v", err)
	}
	open()
}

// Sessions that break lose nothing, and nothing is done twice.
func testSessionsCut(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	b := openBoard(t, url, openLog(t, url), boardtest.Options{Limits: freely})
	s := newTestStore(t, url)
	const agents, each = 16, 25
	var wg sync.WaitGroup
	for i := range agents {
		g := joinAs(t, b, worker(i))
		wg.Go(func() {
			for n := range each {
				if err := oneNote(context.Background(), g, n); err != nil {
					t.Errorf("%s: %v", g.Agent().Name, err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for range 4 {
		_, err := s.owner.Exec(context.Background(), "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and datname = current_database() and application_name = 'dure agents'", s.ground.agent)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
		case <-time.After(60 * time.Millisecond):
		}
	}
	<-done
	acked := make(map[string]int)
	for i := range agents {
		acked[worker(i).Name] = each
	}
	checkNotes(t, b, acked)
}

// What is certain from a statement's words is what the server says.
func testNamedAsTheServer(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	s, ctx := newTestStore(t, url), context.Background()
	if err := s.Enter(ctx, ann); err != nil {
		t.Fatal(err)
	}
	certain := 0
	for sql := range statements {
		touched, ok := named(sql, s.shapes())
		if !ok || strings.Contains(sql, "$") {
			continue
		}
		j := s.newJob(s.newCall(ctx, ann), board.ID{}, func(rows func(*pgconn.ResultReader) error) []step { return execute(board.Statement{SQL: sql}, rows) })
		done, err := s.write(j)
		if errors.Is(err, board.ErrStatement) || errors.Is(err, board.ErrDenied) {
			continue
		}
		if got, want := fmt.Sprint(done.Uses), fmt.Sprint(uses("ann", touched)); err != nil || got != want {
			t.Errorf("%s: the server says %s, %v; the words %s", sql, got, err, want)
		}
		certain++
	}
	if certain < 10 {
		t.Errorf("%d statements were certain", certain)
	}
}

// A board of version 1 of its schema is brought to that of today.
func testMigration(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	log, ctx := openLog(t, url), context.Background()
	all := migrations
	migrations = all[:1]
	_, err := Open(ctx, Config{URL: url, Log: log})
	migrations = all
	if err == nil {
		t.Fatal("today's gateway works on version 1; the test is of no use")
	}
	b := openBoard(t, url, log, boardtest.Options{})
	if err := oneNote(ctx, joinAs(t, b, ann), 0); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, url, "update dure_board.version set version = version + 1")
	if _, err := Open(ctx, Config{URL: url, Log: log}); !errors.Is(err, event.ErrNewer) {
		t.Errorf("a later version: %v", err)
	}
}
