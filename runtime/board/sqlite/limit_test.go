package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"dure/runtime/board"
	"dure/runtime/board/boardtest"
)

// endless runs what never ends, and says how long that took by a clock.
func endless(t *testing.T, b board.Board, sql string, now func() time.Time) time.Duration {
	t.Helper()
	g, err := b.Join(context.Background(), board.Agent{Name: "ann", Role: board.Worker})
	if err != nil {
		t.Fatal(err)
	}
	begun := now()
	_, err = g.Do(context.Background(), board.Statement{SQL: sql})
	took := now().Sub(begun)
	if !errors.Is(err, board.ErrTime) {
		t.Fatalf("%s: %v", sql, err)
	}
	for _, sql := range []string{"select count(*) from notes", "insert into notes (topic, body) values ('t', 'b')"} {
		if _, err := g.Do(context.Background(), board.Statement{SQL: sql}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	return took
}

// Row 11 on a clock of the test's own, which goes on by a millisecond whenever it is
// looked at: an endless statement ends at 5.0 s.
func TestFiveSeconds(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Millisecond)
		return at
	}
	p := place(t)
	b := p.Open(t, boardtest.Options{Now: now})
	for _, sql := range []string{p.Endless, p.EndlessWrite} {
		if took := endless(t, b, sql, now); took < 4800*time.Millisecond || took > 5200*time.Millisecond {
			t.Errorf("%s: ended after %v", sql, took)
		}
	}
}

// The same on the real clock.
func TestFiveRealSeconds(t *testing.T) {
	if !*large {
		t.Skip("takes 10 s: -args -large")
	}
	p := place(t)
	b := p.Open(t, boardtest.Options{})
	for _, sql := range []string{p.Endless, p.EndlessWrite} {
		took := endless(t, b, sql, time.Now)
		t.Logf("ended after %v", took)
		if took < 4800*time.Millisecond || took > 5200*time.Millisecond {
			t.Errorf("%s: ended after %v", sql, took)
		}
	}
}

// Row 12 at full size: 257 MiB leave nothing, 255 MiB pass, and come back from the
// log.
func TestLargeWrite(t *testing.T) {
	if !*large {
		t.Skip("writes a gigabyte: -args -large")
	}
	dir := t.TempDir()
	p := placeIn(t, dir)
	b := p.Open(t, boardtest.Options{Limits: func(l *board.Limits) { l.Time = time.Minute }})
	g, err := b.Join(context.Background(), board.Agent{Name: "ann", Role: board.Worker})
	if err != nil {
		t.Fatal(err)
	}
	sizes := func() (n int64) {
		for _, name := range []string{"board.db", "board.db-wal", "events.db", "events.db-wal"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	const mib = "insert into notes (topic, body) with recursive r (n) as (select 1 union all select n + 1 from r where n < $1) select '', printf('%524000d', n) from r"
	before := sizes()
	begun := time.Now()
	_, err = g.Do(context.Background(), board.Statement{SQL: mib, Args: []any{int64(514)}})
	t.Logf("257 MiB took %v: %v", time.Since(begun), err)
	if !errors.Is(err, board.ErrTooLarge) {
		t.Fatal(err)
	}
	if n := sizes(); n > before+1<<20 {
		t.Errorf("files were %d bytes and are %d", before, n)
	}
	files, err := os.ReadDir(filepath.Join(dir, "board.db.changes"))
	if err != nil || len(files) > 0 {
		t.Errorf("%d files of changes are left, %v", len(files), err)
	}
	begun = time.Now()
	r, err := g.Do(context.Background(), board.Statement{SQL: mib, Args: []any{int64(510)}})
	t.Logf("255 MiB took %v: %v", time.Since(begun), err)
	if err != nil || r.Changed != 510 {
		t.Fatalf("%d rows, %v", r.Changed, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := p.Fresh(t).Join(context.Background(), board.Agent{Name: "bob", Role: board.Worker})
	if err != nil {
		t.Fatal(err)
	}
	r, err = f.Do(context.Background(), board.Statement{SQL: "select count(*), sum(length(body)) from notes"})
	if err != nil || r.Rows[0][0] != int64(510) || r.Rows[0][1] != int64(510*524000) {
		t.Errorf("%v, %v", r.Rows, err)
	}
}
