package postgres

import (
	"context"
	"encoding/json"
	"flag"
	"testing"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
	"dure/runtime/board/load"
	"dure/runtime/event/pgtest"
)

var (
	loadTime    = flag.Duration("load", time.Second, "how long clients work")
	loadClients = flag.Int("clients", 50, "how many do")
)

// A crowd with hostile agents in it: nothing is stored under a wrong name, nothing
// fails that should not, and the log gives the same tables.
func testLoad(t *testing.T, server *pgtest.Server) {
	url := server.Database(t)
	b := openBoard(t, url, openLog(t, url), boardtest.Options{Limits: func(l *board.Limits) { l.PerMinute, l.Time = 1<<30, time.Second }})
	r, err := load.Run(context.Background(), b, load.Mix{Clients: *loadClients, Reads: 8.5, Hostile: 0.01, Attacks: load.Postgres(), Seed: 1}, *loadTime)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Escapes) > 0 || r.Foreign > 0 || len(r.Failed) > 0 {
		t.Errorf("escapes %v, foreign rows %d, failures %v", r.Escapes, r.Foreign, r.Failed)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	sameAfterRebuild(t, url)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
}
