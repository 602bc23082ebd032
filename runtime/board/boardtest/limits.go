package boardtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/runtime/board"
)

// Statements that would run too long end by a limit, and the board goes on.
func testTimeBombs(t *testing.T, p Place) { explode(t, p, 250*time.Millisecond, true) }

// Those that another limit must end have all the time that a slow machine needs.
func testSizeBombs(t *testing.T, p Place) { explode(t, p, patience, false) }

func explode(t *testing.T, p Place, limit time.Duration, byTime bool) {
	if len(p.Bombs) < 10 {
		t.Errorf("%d bombs, want 10", len(p.Bombs))
	}
	b := p.Open(t, Options{Limits: func(l *board.Limits) {
		l.Time, l.Heap, l.Result, l.Write = limit, 16<<20, 1<<20, 4<<20
	}})
	g := join(t, b, ann)
	do(t, g, "insert into notes (topic, body) values ('t', 'b')")
	before := dump(t, b)
	for _, bomb := range p.Bombs {
		if slices.Contains(bomb.Want, board.ErrTime) != byTime {
			continue
		}
		_, err := try(g, bomb.SQL)
		if !slices.ContainsFunc(bomb.Want, func(want error) bool { return errors.Is(err, want) }) {
			t.Errorf("%s: got error %v, want one of %v", bomb.Name, err, bomb.Want)
		}
		wantRows(t, g, "[[b]]", "select body from notes")
	}
	same(t, "the board", dump(t, b), before)
}

// Row 11: what does not end is ended; connections are usable afterwards, and other
// agents are served meanwhile.
func testTime(t *testing.T, p Place) {
	b := p.Open(t, Options{Limits: func(l *board.Limits) { l.Time = time.Second }})
	a, o := join(t, b, ann), join(t, b, bob)
	for _, sql := range []string{p.Endless, p.EndlessWrite} {
		refused(t, a, board.ErrTime, sql)
		do(t, a, "insert into notes (topic, body) values ('t', 'b')")
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { _, _ = try(a, p.Endless) })
	}
	for range 50 {
		do(t, o, "select * from notes")
		do(t, o, "insert into notes (topic, body) values ('t', 'meanwhile')")
	}
	wg.Wait()
	// One that nobody waits for any more is ended too.
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := a.Do(ctx, board.Statement{SQL: p.Endless})
	wantErr(t, err, context.DeadlineExceeded)
	wantRows(t, a, "[[52]]", "select count(*) from notes")
	rebuilt(t, p, b)
}

// Row 12: a write that is too large leaves nothing; one just below it passes.
func testWriteSize(t *testing.T, p Place) {
	b := p.Open(t, Options{Limits: func(l *board.Limits) { l.Write = 1 << 20; l.Time = patience }})
	g := join(t, b, ann)
	do(t, g, "insert into notes (topic, body) values ('t', 'small')")
	before := dump(t, b)
	refused(t, g, board.ErrTooLarge, p.Sized, int64(1100))
	same(t, "the board", dump(t, b), before)
	if r := do(t, g, p.Sized, int64(950)); r.Changed != 950 {
		t.Errorf("%d rows", r.Changed)
	}
	// Updates count what they write, removals do not.
	refused(t, g, board.ErrTooLarge, "update notes set topic = topic || '.', body = body || body")
	do(t, g, "update notes set topic = 'shorter'")
	if r := do(t, g, "delete from notes"); r.Changed != 951 {
		t.Errorf("%d rows", r.Changed)
	}
	rebuilt(t, p, b)
}

// Caps on what goes in and out.
func testCaps(t *testing.T, p Place) {
	b := p.Open(t, Options{Limits: func(l *board.Limits) {
		l.Rows, l.Result, l.Statement, l.Value = 100, 50_000, 100_000, 60_000
	}})
	g := join(t, b, ann)
	do(t, g, p.Sized, int64(40))
	if n := len(rows(t, g, "select id from notes")); n != 40 {
		t.Errorf("%d rows", n)
	}
	do(t, g, p.Sized, int64(61))
	refused(t, g, board.ErrTooLarge, "select id from notes")
	if n := len(rows(t, g, "select id from notes limit 100")); n != 100 {
		t.Errorf("%d rows", n)
	}
	refused(t, g, board.ErrTooLarge, "select body from notes limit 60")
	refused(t, g, board.ErrTooLarge, "update notes set topic = 'x' returning body")
	wantRows(t, g, "[[0]]", "select count(*) from notes where topic = 'x'")
	refused(t, g, board.ErrTooLarge, "select '"+strings.Repeat("x", 100_000)+"'")
	refused(t, g, board.ErrTooLarge, "select $1", strings.Repeat("x", 100_000))
	refused(t, g, board.ErrTooLarge, "insert into notes (topic, body) values ('t', $1)", strings.Repeat("x", 70_000))
	do(t, g, "insert into notes (topic, body) values ('large', $1)", strings.Repeat("x", 40_000))
	refused(t, g, board.ErrTooLarge, "update notes set body = body || body where topic = 'large'")
	rebuilt(t, p, b)
}

// Quotas are each agent's own, and time gives calls back.
func testQuota(t *testing.T, p Place) {
	var mu sync.Mutex
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tick := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	b := p.Open(t, Options{Limits: func(l *board.Limits) { l.PerMinute, l.Stored = 20, 12_000 },
		Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	a, o := join(t, b, ann), join(t, b, bob)
	for range 20 {
		do(t, a, "select 1")
	}
	refused(t, a, board.ErrQuota, "select 1")
	// Another way in is not another agent.
	refused(t, join(t, b, ann), board.ErrQuota, "select 1")
	do(t, o, "select 1")
	tick(6 * time.Second)
	do(t, a, "select 1")
	do(t, a, "select 1")
	refused(t, a, board.ErrQuota, "select 1")
	tick(time.Minute)
	do(t, a, p.Sized, int64(6))
	refused(t, a, board.ErrQuota, p.Sized, int64(6))
	do(t, o, p.Sized, int64(6))
	do(t, a, "delete from notes where agent = me()")
	do(t, a, p.Sized, int64(8))
	closeIt(t, b)
	// What was stored is known after a restart.
	b = p.Open(t, Options{Limits: func(l *board.Limits) { l.Stored = 12_000 }})
	a = join(t, b, ann)
	refused(t, a, board.ErrQuota, p.Sized, int64(6))
	refused(t, a, board.ErrQuota, "update notes set body = body || body where agent = me()")
	do(t, a, "delete from notes where agent = me()")
	do(t, a, p.Sized, int64(8))
	rebuilt(t, p, b)
}

// One statement a call: what follows the first is never run.
func testOneStatement(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	g := join(t, b, ann)
	before := dump(t, b)
	for _, sql := range []string{
		"select 1; select 2", "select 1;select 2", "select 1 /* ; */ ; insert into notes (topic, body) values ('a', 'b')",
		"insert into notes (topic, body) values ('a', 'b'); delete from notes", "select 1; -- a\n select 2",
		"insert into notes (topic, body) values ('a', 'b');;insert into notes (topic, body) values ('a', 'b')",
		"insert into notes (topic, body) values ('a', 'b'); commit",
	} {
		if _, err := try(g, sql); !errors.Is(err, board.ErrDenied) && !errors.Is(err, board.ErrStatement) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	same(t, "the board", dump(t, b), before)
	for _, sql := range []string{"select 1;", "select 1 ; ", "select 1 -- ;", "select 1; -- end", "-- begin\nselect 1", "/* a */ select 1 /* b */;"} {
		wantRows(t, g, "[[1]]", sql)
	}
}

func testWait(t *testing.T, p Place) {
	b := p.Open(t, Options{Limits: func(l *board.Limits) { l.Wait = patience; l.AtOnce = 2 }})
	a, o := join(t, b, ann), join(t, b, bob)
	ctx := limited(t)
	start, err := a.Wait(ctx, 0, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	first := do(t, o, "insert into notes (topic, body) values ('t', 'b')")
	n, err := a.Wait(ctx, start, patience)
	if err != nil || n < first.Change || first.Change <= start {
		t.Fatalf("%d after %d: %v", n, start, err)
	}
	// A wait for one table does not end with a change of another.
	got := make(chan uint64, 1)
	go func() {
		n, err := a.Wait(ctx, n, patience, board.Announce, board.Subtasks)
		if err != nil {
			t.Error(err)
		}
		got <- n
	}()
	for range 20 {
		do(t, o, "insert into notes (topic, body) values ('t', 'b')")
	}
	select {
	case n := <-got:
		t.Fatalf("the wait ended at %d", n)
	default:
	}
	second := do(t, o, "insert into announce (body) values ('now')")
	if n := <-got; n < second.Change {
		t.Errorf("ended at %d, the change is %d", n, second.Change)
	}
	// Nothing new: it ends by itself, and says the same number again.
	m, err := a.Wait(ctx, second.Change+100, time.Millisecond)
	if err != nil || m != second.Change {
		t.Errorf("%d, %v", m, err)
	}
	_, err = a.Wait(ctx, 0, time.Second, "nothing")
	wantErr(t, err, board.ErrStatement)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = a.Wait(ended, 1<<40, time.Second)
	wantErr(t, err, context.Canceled)
	// Few waits at once for one agent.
	hold, release := context.WithCancel(ctx)
	var wg sync.WaitGroup
	busy := make(chan error, 3)
	for range 3 {
		wg.Go(func() { _, err := a.Wait(hold, 1<<40, patience); busy <- err })
	}
	wantErr(t, <-busy, board.ErrBusy)
	release()
	wg.Wait()
}

func testClose(t *testing.T, p Place) {
	b := p.Open(t, Options{})
	g := join(t, b, ann)
	do(t, g, "insert into notes (topic, body) values ('t', 'b')")
	waited := make(chan error, 1)
	go func() { _, err := g.Wait(limited(t), 1<<40, patience); waited <- err }()
	var wg sync.WaitGroup
	acked := make([]int, 8)
	for w := range acked {
		other := join(t, b, board.Agent{Name: fmt.Sprint("w", w), Role: board.Worker})
		wg.Go(func() {
			for {
				_, err := try(other, "insert into notes (topic, body) values ('t', 'late')")
				if errors.Is(err, board.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				acked[w]++
			}
		})
	}
	_, _ = g.Wait(limited(t), 20, patience) // until there is a load
	closeIt(t, b)
	closeIt(t, b)
	wg.Wait()
	wantErr(t, <-waited, board.ErrClosed)
	refused(t, g, board.ErrClosed, "select 1")
	_, err := b.Join(limited(t), ann)
	wantErr(t, err, board.ErrClosed)
	sum := 0
	for _, n := range acked {
		sum += n
	}
	b = p.Open(t, Options{})
	wantRows(t, join(t, b, ann), fmt.Sprintf("[[%d]]", sum), "select count(*) from notes where body = 'late'")
	rebuilt(t, p, b)
}
