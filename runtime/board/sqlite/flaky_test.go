package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"dure/runtime/board"
	"dure/runtime/event"
)

// flaky is a log that fails: before an append, after it, or because it is full.
type flaky struct {
	event.Log
	mu  sync.Mutex
	rng *rand.Rand
}

var errFlaky = errors.New("the disk has gone")

func (f *flaky) Append(ctx context.Context, stream string, expected event.Sequence, events ...event.Event) (event.Sequence, error) {
	f.mu.Lock()
	how := f.rng.IntN(8)
	f.mu.Unlock()
	switch how {
	case 0:
		return 0, errFlaky
	case 1:
		if _, err := f.Log.Append(ctx, stream, expected, events...); err != nil {
			return 0, err
		}
		return 0, errFlaky
	case 2:
		return 0, event.ErrFull
	}
	return f.Log.Append(ctx, stream, expected, events...)
}

// Whatever the log does: what was acknowledged is there once, what was refused is
// not, and what is unknown can be sent again with its ID.
func TestFlakyLog(t *testing.T) {
	dir := t.TempDir()
	log := &flaky{Log: openLog(t, filepath.Join(dir, "events.db")), rng: rand.New(rand.NewPCG(rand.Uint64(), 2))}
	b, err := Open(context.Background(), Config{Path: filepath.Join(dir, "board.db"), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var wg sync.WaitGroup
	unknown, full := make([]int, 6), make([]int, 6)
	for w := range unknown {
		var g board.Gateway
		for g == nil {
			if g, err = b.Join(ctx, board.Agent{Name: fmt.Sprint("w", w), Role: board.Worker}); err != nil {
				g = nil
			}
		}
		wg.Go(func() {
			for n := range 40 {
				s := board.Statement{SQL: "insert into notes (topic, body) values ('t', $1)", Args: []any{fmt.Sprint(n)}, ID: event.NewID()}
				for {
					_, err := g.Do(ctx, s)
					if err == nil || errors.Is(err, board.ErrDuplicate) {
						break
					}
					switch {
					case errors.Is(err, board.ErrUnknown):
						unknown[w]++
					case errors.Is(err, board.ErrFull):
						full[w]++
					default:
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	want := dumpOf(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	f := fresh(t, dir, log.Log)
	if string(dumpOf(t, f)) != string(want) {
		t.Error("tables and log differ")
	}
	g, err := f.Join(ctx, board.Agent{Name: "w0", Role: board.Worker})
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Do(ctx, board.Statement{SQL: "select agent, count(*), count(distinct body) from notes group by agent order by agent"})
	if got := fmt.Sprint(r.Rows); err != nil || got != "[[w0 40 40] [w1 40 40] [w2 40 40] [w3 40 40] [w4 40 40] [w5 40 40]]" {
		t.Errorf("%s, %v", got, err)
	}
	t.Logf("unknown %v, full %v", unknown, full)
}
