package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dure/runtime/event"
	"dure/runtime/event/eventtest"
	"dure/runtime/event/pgtest"
)

var (
	childURL = flag.String("log", "", "the log of a child")
	models   = flag.Int("models", 20, "how often random calls are made")
	crashes  = flag.Int("crashes", 4, "how often a writer is killed, and how often the server")
)

func openAt(t testing.TB, url string) event.Log {
	t.Helper()
	log, err := Open(context.Background(), Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

func places(server *pgtest.Server) func(t testing.TB) eventtest.Place {
	return func(t testing.TB) eventtest.Place {
		url := server.Database(t)
		return eventtest.Place{
			Models: *models,
			Open:   func(t testing.TB) event.Log { return openAt(t, url) },
			Table:  func(t testing.TB) eventtest.Dumper { return newTable(t, server.Database(t)) },
		}
	}
}

// All tests share one server, in this order.
func TestPostgres(t *testing.T) {
	server := pgtest.Start(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *pgtest.Server)
	}{
		{"Suite", func(t *testing.T, s *pgtest.Server) { eventtest.Run(t, places(s)) }},
		{"NothingComesLate", testNothingComesLate},
		{"BrokenConnections", testBrokenConnections},
		{"Deaf", testDeaf},
		{"Migration", testMigration},
		{"Sums", testSums},
		{"OpenedAtOnce", testOpenedAtOnce},
		{"Refusals", testRefusals},
		{"KilledWriters", testKilledWriters},
		{"KilledServer", testKilledServer},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, server) })
	}
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func exec1(t testing.TB, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func whole(t testing.TB, log event.Log) []event.Event {
	t.Helper()
	var events []event.Event
	for e, err := range log.ReadAll(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := eventtest.Check(events); err != nil {
		t.Fatal(err)
	}
	return events
}

// Another process has its positions and is slow to commit, or gives up: nobody gets
// a later position meanwhile, and none is lost.
func testNothingComesLate(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	log, other, look := openAt(t, url), connect(t, url), connect(t, url)
	appendOne := func(n int) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := log.Append(context.Background(), "s", event.Any, eventtest.Number(0, n))
			done <- err
		}()
		return done
	}
	// blocked waits until the append waits for the lock; it never will without one.
	blocked := func(done chan error) {
		t.Helper()
		for {
			select {
			case err := <-done:
				t.Fatalf("appended beside a group that is not committed: %v", err)
			default:
			}
			var waits int
			err := look.QueryRow(context.Background(), `select count(*) from pg_stat_activity
				where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waits)
			if err != nil {
				t.Fatal(err)
			}
			if waits > 0 {
				return
			}
		}
	}
	hold := func() {
		exec1(t, other, "begin")
		exec1(t, other, lockSQL)
		e := eventtest.Number(1, 0)
		e.ID, e.Stream, e.Sequence, e.Position = event.NewID(), "other", 1, 1
		exec1(t, other, insertSQL, arrays([]event.Event{e})...)
		exec1(t, other, headSQL, 1)
	}
	hold()
	done := appendOne(0)
	blocked(done)
	if got := whole(t, log); len(got) != 0 {
		t.Errorf("%d events are seen, none is committed", len(got))
	}
	exec1(t, other, "rollback")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := whole(t, log); len(got) != 1 || got[0].Stream != "s" {
		t.Errorf("after a rollback: %+v", got)
	}
	exec1(t, other, "delete from dure_event.events")
	exec1(t, other, headSQL, 0)
	hold()
	done = appendOne(1)
	blocked(done)
	exec1(t, other, "commit")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := whole(t, log); len(got) != 2 || got[0].Stream != "other" || got[1].Stream != "s" {
		t.Errorf("after a commit: %+v", got)
	}
}

// Sessions that only listen are ended; followers go on.
func testDeaf(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	near, far, admin := openAt(t, url), openAt(t, url), connect(t, url)
	next := make(chan event.Event)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for e, err := range near.FollowAll(ctx, 0) {
			if err != nil {
				close(next)
				return
			}
			next <- e
		}
	}()
	for n := range 4 {
		exec1(t, admin, `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and query ilike 'listen%'`)
		if _, err := far.Append(context.Background(), "s", event.Any, eventtest.Number(0, n)); err != nil {
			t.Fatal(err)
		}
		if e, ok := <-next; !ok || e.Position != event.Position(n+1) {
			t.Fatalf("want position %d, got %+v", n+1, e)
		}
	}
}

func testMigration(t *testing.T, server *pgtest.Server) {
	url, ctx := server.Database(t), context.Background()
	log := openAt(t, url)
	if _, err := log.Append(ctx, "s", 0, eventtest.Number(0, 0)); err != nil {
		t.Fatal(err)
	}
	later, err := open(ctx, Config{URL: url}, ground{steps: append(slices.Clone(migrations), "create table dure_event.more (a int)", "insert into dure_event.more values (7)")})
	if err != nil {
		t.Fatal(err)
	}
	if got := whole(t, later); len(got) != 1 {
		t.Errorf("%d events after a migration", len(got))
	}
	if err := later.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, Config{URL: url})
	var newer *event.NewerError
	if !errors.As(err, &newer) || newer.Found != 4 || newer.Known != 2 {
		t.Errorf("got %v", err)
	}
	if _, err := open(ctx, Config{URL: url}, ground{steps: []string{"", "", "", "", "create table dure_event.more (a int)"}}); err == nil {
		t.Error("a table was made twice")
	}
	again, err := open(ctx, Config{URL: url}, ground{steps: []string{"", "", "", ""}})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// What was changed in a row is noticed; a row from before there were checksums is read as
// it is.
func testSums(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	log := openAt(t, url)
	for i := range 5 {
		if _, err := log.Append(t.Context(), "s", event.Any, eventtest.Number(0, i)); err != nil {
			t.Fatal(err)
		}
	}
	c := connect(t, url)
	exec1(t, c, "update dure_event.events set sum = null, payload = '7' where position = 2")
	exec1(t, c, "update dure_event.events set payload = '7' where position = 4")
	n, last := 0, error(nil)
	for _, err := range log.ReadAll(t.Context(), 0) {
		if last = err; err == nil {
			n++
		}
	}
	if n != 3 || !errors.Is(last, event.ErrDamaged) || !strings.Contains(last.Error(), "position 4") {
		t.Errorf("%d events, then %v", n, last)
	}
}

func testOpenedAtOnce(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	var wg sync.WaitGroup
	for w := range 5 {
		wg.Go(func() {
			log, err := Open(context.Background(), Config{URL: url})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := log.Append(context.Background(), "s", event.Any, eventtest.Number(w, 0)); err != nil {
				t.Error(err)
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := whole(t, openAt(t, url)); len(got) != 5 {
		t.Errorf("%d events", len(got))
	}
}

// What would lose events, or is something else, is refused with words that help.
func testRefusals(t *testing.T, server *pgtest.Server) {
	ctx := context.Background()
	root := server.URL("postgres", pgtest.Superuser)
	refused := func(url string, want error, words string) {
		t.Helper()
		log, err := Open(ctx, Config{URL: url})
		if err == nil {
			_ = log.Close()
		}
		if !errors.Is(err, want) || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	foreign := server.Database(t)
	server.Exec(t, foreign, "create schema dure_event")
	refused(foreign, event.ErrForeign, "use another database")
	server.Exec(t, root, "create database ascii encoding 'SQL_ASCII' template template0")
	refused(server.URL("ascii", pgtest.Superuser), event.ErrInvalid, "UTF8")

	url := server.Database(t)
	server.Exec(t, root, "alter system set fsync = off", "select pg_reload_conf()")
	for reloaded := ""; reloaded != "off"; { // the server takes a moment
		if err := connect(t, root).QueryRow(ctx, "show fsync").Scan(&reloaded); err != nil {
			t.Fatal(err)
		}
	}
	refused(url, event.ErrNotDurable, "fsync")
	server.Exec(t, root, "alter system reset fsync", "select pg_reload_conf()")
	for reloaded := ""; reloaded != "on"; {
		if err := connect(t, root).QueryRow(ctx, "show fsync").Scan(&reloaded); err != nil {
			t.Fatal(err)
		}
	}
	c := connect(t, url)
	for setting, want := range map[string]string{"off": "on", "on": "on", "local": "local", "remote_apply": "remote_apply"} {
		exec1(t, c, "select set_config('synchronous_commit', $1, false)", setting)
		if err := durable(ctx, c); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := c.QueryRow(ctx, "show synchronous_commit").Scan(&got); err != nil || got != want {
			t.Errorf("synchronous_commit %s became %s, want %s: %v", setting, got, want, err)
		}
	}
	if _, err := Open(ctx, Config{URL: "postgres://u:secret@localhost:1/x?connect_timeout=1"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if err := explain(&pgconn.PgError{Code: "53100"}); !errors.Is(err, event.ErrFull) {
		t.Errorf("got %v", err)
	}
}

// TestChild is no test but the process that testKilledWriters kills.
func TestChild(t *testing.T) {
	if *childURL != "" {
		t.Fatal(eventtest.Write(openAt(t, *childURL), os.Stdout))
	}
}

func child(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(exe, "-test.run=^TestChild$", "-log="+url)
}

func testKilledWriters(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	at := eventtest.Place{Open: func(t testing.TB) event.Log { return openAt(t, url) }}
	eventtest.KillMany(t, *crashes, at, func() *exec.Cmd { return child(t, url) })
}

// The server is killed in the middle of it: what it acknowledged is there.
func testKilledServer(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	var acks []eventtest.Ack
	for round := range *crashes {
		acks = append(acks, eventtest.Kill(t, child(t, url), server.Kill)...)
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
		log := openAt(t, url)
		if err := eventtest.CheckAcks(whole(t, log), acks); err != nil {
			t.Fatalf("kill %d: %v", round+1, err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills of the server, %d acknowledged events, all there", *crashes, len(acks))
}

func FuzzAppend(f *testing.F) {
	eventtest.Seed(f)
	log := openAt(f, pgtest.Start(f).Database(f))
	f.Fuzz(func(t *testing.T, stream, typ string, version int, payload []byte) {
		eventtest.FuzzAppend(t, log, stream, typ, version, payload)
	})
}

func BenchmarkAppend(b *testing.B) { eventtest.Benchmark(b, places(pgtest.Start(b))) }

// table is a State in tables: a row for each stream and type, and the chain.
type table struct{ conn *pgx.Conn }

func newTable(t testing.TB, url string) *table {
	c := connect(t, url)
	exec1(t, c, "create table at (position bigint, chain bytea)")
	exec1(t, c, "create table tally (stream text, type text, events int, primary key (stream, type))")
	s := &table{c}
	if err := s.Reset(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *table) Applied(ctx context.Context) (event.Position, error) {
	var at int64
	err := s.conn.QueryRow(ctx, "select position from at").Scan(&at)
	return event.Position(at), err
}

func (s *table) Reset(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, "truncate tally, at; insert into at values (0, decode(repeat('00', 32), 'hex'))")
	return err
}

func (s *table) Apply(ctx context.Context, events []event.Event) error {
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		var chain []byte
		if err := tx.QueryRow(ctx, "select chain from at").Scan(&chain); err != nil {
			return err
		}
		link := [32]byte(chain)
		for _, e := range events {
			link = eventtest.Link(link, e)
			if _, err := tx.Exec(ctx, `insert into tally values ($1, $2, 1)
				on conflict (stream, type) do update set events = tally.events + 1`, e.Stream, e.Type); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "update at set position = $1, chain = $2", int64(events[len(events)-1].Position), link[:])
		return err
	})
}

func (s *table) Dump() ([]byte, error) {
	var out []byte
	for _, sql := range []string{"select position::text, encode(chain, 'hex'), '' from at", `select stream, type, events::text from tally order by stream collate "C", type collate "C"`} {
		rows, err := s.conn.Query(context.Background(), sql)
		if err != nil {
			return nil, err
		}
		var a, b, c string
		if _, err := pgx.ForEachRow(rows, []any{&a, &b, &c}, func() error {
			out = fmt.Appendf(out, "%q %q %q\n", a, b, c)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
