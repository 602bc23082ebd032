package postgres

import (
	"context"
	"testing"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
	"dure/runtime/event"
	eventpg "dure/runtime/event/postgres"

	"dure/runtime/event/pgtest"
)

func openLog(t testing.TB, url string) event.Log {
	t.Helper()
	log, err := eventpg.Open(context.Background(), eventpg.Config{URL: url})
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

func openBoard(t testing.TB, url string, log event.Log, o boardtest.Options) board.Board {
	t.Helper()
	l := board.DefaultLimits()
	if o.Limits != nil {
		o.Limits(&l)
	}
	b, err := Open(context.Background(), Config{URL: url, Log: log, Limits: l, Now: o.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func rebuild(t testing.TB, url string, log event.Log) {
	t.Helper()
	if err := Rebuild(context.Background(), Config{URL: url, Log: log}); err != nil {
		t.Fatal(err)
	}
}

func places(server *pgtest.Server) func(t testing.TB) boardtest.Place {
	return func(t testing.TB) boardtest.Place {
		url := server.Database(t)
		log := openLog(t, url)
		return boardtest.Place{
			Open: func(t testing.TB, o boardtest.Options) board.Board { return openBoard(t, url, log, o) },
			Fresh: func(t testing.TB) board.Board {
				rebuild(t, url, log)
				return openBoard(t, url, log, boardtest.Options{})
			},
			Log:          log,
			Attacks:      attacks,
			Bombs:        bombs,
			Endless:      "with recursive n (i) as (select 1 union all select i % 7 from n) select max(i) from n",
			EndlessWrite: "insert into notes (topic, body) with recursive n (i) as (select 1 union all select i % 7 from n) select 't', max(i)::text from n",
			Sized:        "insert into notes (topic, body) select 't', left(string_agg(md5(g::text || k::text), ''), 999) from generate_series(1, $1) g, generate_series(1, 32) k group by g",
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
		{"Suite", func(t *testing.T, s *pgtest.Server) { boardtest.Run(t, places(s)) }},
		{"PrivilegesAlone", testPrivilegesAlone},
		{"GatewayAlone", testGatewayAlone},
		{"OpenedGuards", testOpenedGuards},
		{"Migration", testMigration},
		{"NamedAsTheServer", testNamedAsTheServer},
		{"Group", testGroup},
		{"GroupsShare", testGroupsShare},
		{"Locked", testLocked},
		{"SessionsCut", testSessionsCut},
		{"Clock", testClock},
		{"InFull", testInFull},
		{"Load", testLoad},
		{"KilledGateway", testKilledGateway},
		{"KilledServer", testKilledServer},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, server) })
	}
}
