package sqlite

import (
	"context"
	"testing"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
	"dure/runtime/board/load"
)

// A swarm at work, with attacks among its calls: nothing escapes, nothing fails.
func TestLoad(t *testing.T) {
	p := place(t)
	b := p.Open(t, boardtest.Options{Limits: func(l *board.Limits) { l.PerMinute = 1_000_000; l.Time = time.Second }})
	r, err := load.Run(context.Background(), b, load.Mix{Clients: *clients, Reads: 8.5, Hostile: 0.01, Attacks: load.SQLite(), Seed: 1}, *long)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Escapes) > 0 || r.Foreign > 0 || len(r.Failed) > 0 {
		t.Errorf("escapes %v, %d rows under a wrong name, failures %q", r.Escapes, r.Foreign, r.Failed)
	}
	t.Logf("%+v\nrefused %v", r.Calls, r.Refused)
}
