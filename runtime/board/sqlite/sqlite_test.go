package sqlite

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
	"dure/runtime/event"
	eventlog "dure/runtime/event/sqlite"
)

var (
	childDir = flag.String("child", "", "what TestChild works on")
	kills    = flag.Int("kills", 4, "how often a process is killed")
	cuts     = flag.Int("cuts", 20, "how often the power is cut")
	large    = flag.Bool("large", false, "writes of 255 and 257 MiB, and 5 s on the real clock")
	clients  = flag.Int("clients", 200, "agents of TestLoad")
	long     = flag.Duration("long", time.Second, "how long TestLoad runs")
)

func openLog(t testing.TB, path string) event.Log {
	t.Helper()
	log, err := eventlog.Open(context.Background(), eventlog.Config{Path: path})
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

func openBoard(t testing.TB, path string, log event.Log, o boardtest.Options) board.Board {
	t.Helper()
	l := board.DefaultLimits()
	if o.Limits != nil {
		o.Limits(&l)
	}
	b, err := Open(context.Background(), Config{Path: path, Log: log, Limits: l, Now: o.Now})
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

func place(t testing.TB) boardtest.Place { return placeIn(t, t.TempDir()) }

func placeIn(t testing.TB, dir string) boardtest.Place {
	log := openLog(t, filepath.Join(dir, "events.db"))
	return boardtest.Place{
		Open: func(t testing.TB, o boardtest.Options) board.Board {
			return openBoard(t, filepath.Join(dir, "board.db"), log, o)
		},
		Fresh: func(t testing.TB) board.Board { return fresh(t, dir, log) },
		Log:   log, Attacks: attacks, Bombs: bombs,
		Endless:      "with recursive r (n) as (select 1 union all select n + 1 from r) select count(*) from r",
		EndlessWrite: "insert into notes (topic, body) with recursive r (n) as (select 1 union all select n + 1 from r) select 't', 'b' from r where n < 0",
		Sized: "insert into notes (topic, body) with recursive r (n) as (select 1 union all select n + 1 from r where n < $1) " +
			"select 'sized', printf('%995d', n) from r",
	}
}

func TestSuite(t *testing.T) { boardtest.Run(t, place) }

// fresh makes tables anew from a log. Files of large writes are a part of the log.
func fresh(t testing.TB, dir string, log event.Log) board.Board {
	t.Helper()
	to := filepath.Join(t.TempDir(), "board.db")
	if err := os.CopyFS(to+".changes", os.DirFS(filepath.Join(dir, "board.db.changes"))); err != nil {
		t.Fatal(err)
	}
	return openBoard(t, to, log, boardtest.Options{})
}
