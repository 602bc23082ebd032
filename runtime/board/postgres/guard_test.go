package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
	"dure/runtime/event/pgtest"
)

var long = flag.Bool("long", false, "statements of 5 seconds and of 256 MiB too")

var ann, bob = board.Agent{Name: "ann", Role: board.Worker}, board.Agent{Name: "bob", Role: board.Worker}

// newTestStore is a store without a desk.
func newTestStore(t testing.TB, url string) *store {
	t.Helper()
	s, err := newStore(context.Background(), &Config{URL: url, Log: openLog(t, url)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// What the privileges deny by themselves: the agents' role on a connection without a
// gateway, free to send any text.
func testPrivilegesAlone(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	s, ctx := newTestStore(t, url), context.Background()
	if err := s.Enter(ctx, ann); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"insert into notes (topic, body) values ('t', 'b')", "insert into announce (body) values ('b')", "insert into subtasks (title) values ('t')",
	} {
		if _, err := s.Run(ctx, ann, board.Statement{SQL: sql}); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Password = s.ground.agent, s.ground.password()
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	// Statements that only the form denies: they change nothing but the session.
	form := []string{"set", "set local", "set session", "reset", "discard", "show", "reset role", "begin", "commit", "rollback", "savepoint", "prepare",
		"execute", "deallocate", "cursor", "fetch", "listen", "notify", "set constraints", "copy out", "copy of a query", "do block",
		"explain analyze", "vacuum", "analyze", "cluster", "session authorization", "many out of little", "two statements, second a setting", "lock", "grant", "revoke",
		"prepare transaction", "copy in", "end of the prepared statement", "alter role", "write in a read"}
	tried := 0
	for _, a := range attacks {
		if slices.ContainsFunc(form, func(f string) bool { return a.Name == f }) {
			continue
		}
		tried++
		_, err := c.Exec(ctx, a.SQL, pgx.QueryExecModeSimpleProtocol)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) {
			t.Errorf("%s: %s: got %v", a.Name, a.SQL, err)
		}
		if _, err := c.Exec(ctx, "rollback"); err != nil {
			t.Fatal(err)
		}
	}
	if tried < 100 {
		t.Errorf("%d tried", tried)
	}
}

// What the gateway denies by itself: a statement that has changed who speaks.
func testGatewayAlone(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	s, ctx := newTestStore(t, url), context.Background()
	for _, a := range []board.Agent{ann, bob} {
		if err := s.Enter(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Run(ctx, ann, board.Statement{SQL: "insert into notes (topic, body) values ('t', 'of ann')"}); err != nil {
		t.Fatal(err)
	}
	forged := s.speaker(s.newCall(ctx, board.Agent{Name: "ann", Role: board.Lead}), true)
	for _, sql := range []string{
		"insert into notes (topic, body) values ('t', 'forged')", "update notes set body = 'forged'", "delete from notes",
		"insert into landed (commit_id, author, summary) values ('c', 'a', 's')",
	} {
		_, err := s.write(s.newJob(s.newCall(ctx, bob), board.ID{}, func(rows func(*pgconn.ResultReader) error) []step {
			return []step{forged, {sql: sql, rows: rows}}
		}))
		if !errors.Is(err, board.ErrDenied) {
			t.Errorf("%s: got %v", sql, err)
		}
	}
	done, err := s.Run(ctx, bob, board.Statement{SQL: "select agent, body from notes"})
	if err != nil || fmt.Sprint(done.Result.Rows) != "[[ann of ann]]" {
		t.Errorf("got %v, %v", done.Result.Rows, err)
	}
}

// What somebody gave to PUBLIC since is taken away again; what cannot be is refused.
func testOpenedGuards(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	log, ctx := openLog(t, url), context.Background()
	open := func() error {
		b, err := Open(ctx, Config{URL: url, Log: log})
		if err == nil {
			err = b.Close()
		}
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"grant execute on function pg_catalog.pg_sleep(double precision) to public", "grant select on pg_catalog.pg_database to public",
		"grant temporary on database " + url[strings.Index(url, "///")+3:strings.Index(url, "?")] + " to public", "grant usage on language sql to public",
	} {
		server.Exec(t, url, sql)
		if err := open(); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	s := newTestStore(t, url)
	if _, err := s.Run(ctx, ann, board.Statement{SQL: "select pg_sleep(100)"}); !errors.Is(err, board.ErrDenied) {
		t.Errorf("got %v", err)
	}
	for give, take := range map[string]string{
		"grant postgres to " + s.ground.agent:                            "revoke postgres from " + s.ground.agent,
		"alter role " + s.ground.agent + " createdb":                     "alter role " + s.ground.agent + " nocreatedb",
		"grant execute on function pg_ls_dir(text) to " + s.ground.agent: "revoke execute on function pg_ls_dir(text) from " + s.ground.agent,
		"create schema other authorization postgres; create table other.x (); grant usage on schema other to public; grant select on other.x to public": "drop schema other cascade",
	} {
		server.Exec(t, url, give)
		if err := open(); !errors.Is(err, ErrUnguarded) {
			t.Errorf("%s: got %v", give, err)
		}
		server.Exec(t, url, take)
	}
	if err := open(); err != nil {
		t.Error(err)
	}
	other := openLog(t, server.Database(t))
	if _, err := s.Run(ctx, ann, board.Statement{SQL: "insert into notes (topic, body) values ('t', 'b')"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, Config{URL: url, Log: other}); !errors.Is(err, board.ErrInvalid) {
		t.Errorf("a log of another database: %v", err)
	}
}

// Row 11 on a clock of the test's: not before 5 seconds, and then.
func testClock(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	var ahead atomic.Int64
	start := time.Now()
	now := func() time.Time { return start.Add(time.Duration(ahead.Load())) }
	b := openBoard(t, url, openLog(t, url), boardtest.Options{Now: now})
	g, err := b.Join(context.Background(), ann)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"with recursive n (i) as (select 1 union all select i % 7 from n) select max(i) from n",
		"insert into notes (topic, body) with recursive n (i) as (select 1 union all select i % 7 from n) select 't', max(i)::text from n",
	} {
		ended := make(chan error, 1)
		go func() {
			_, err := g.Do(context.Background(), board.Statement{SQL: sql})
			ended <- err
		}()
		ahead.Add(int64(4900 * time.Millisecond))
		select {
		case err := <-ended:
			t.Fatalf("ended early: %v", err)
		case <-time.After(300 * time.Millisecond): // many looks of the overseer
		}
		ahead.Add(int64(10 * time.Second)) // it may have begun only after the first step
		if err := <-ended; !errors.Is(err, board.ErrTime) {
			t.Fatalf("got %v", err)
		}
	}
}

// Rows 11 and 12 in full: 5 seconds of the real clock, 255 MiB pass, 257 do not.
func testInFull(t *testing.T, server *pgtest.Server) {
	if !*long {
		t.Skip("SKIPPED: takes a minute; -args -long runs it")
	}
	url := server.Database(t)
	b := openBoard(t, url, openLog(t, url), boardtest.Options{Limits: func(l *board.Limits) { l.Time = 2 * time.Minute }})
	ctx := context.Background()
	g, err := b.Join(ctx, ann)
	if err != nil {
		t.Fatal(err)
	}
	const sized = "insert into notes (topic, body) select 't', (select string_agg(md5((g * k)::text), '') from generate_series(1, 32768) k) from generate_series(1, $1) g"
	// A row is 1 MiB and a few bytes for the name and the like.
	if _, err := g.Do(ctx, board.Statement{SQL: sized, Args: []any{int64(257)}}); !errors.Is(err, board.ErrTooLarge) {
		t.Errorf("257 MiB: %v", err)
	}
	begun := time.Now()
	if _, err := g.Do(ctx, board.Statement{SQL: sized, Args: []any{int64(255)}}); err != nil {
		t.Errorf("255 MiB: %v", err)
	}
	t.Logf("255 MiB took %v", time.Since(begun))
	r, err := g.Do(ctx, board.Statement{SQL: "select count(*), sum(octet_length(body)) from notes"})
	if err != nil || fmt.Sprint(r.Rows) != fmt.Sprintf("[[255 %d]]", 255<<20) {
		t.Errorf("got %v, %v", r.Rows, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	sameAfterRebuild(t, url)

	b = openBoard(t, url, openLog(t, url), boardtest.Options{})
	if g, err = b.Join(ctx, bob); err != nil {
		t.Fatal(err)
	}
	begun = time.Now()
	_, err = g.Do(ctx, board.Statement{SQL: "with recursive n (i) as (select 1 union all select i % 7 from n) select max(i) from n"})
	if !errors.Is(err, board.ErrTime) {
		t.Errorf("got %v", err)
	}
	t.Logf("an endless statement ended after %v", time.Since(begun))
	if _, err := g.Do(ctx, board.Statement{SQL: "select 1"}); err != nil {
		t.Error(err)
	}
}
