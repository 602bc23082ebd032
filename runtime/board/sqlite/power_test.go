package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"dure/runtime/board"
	"dure/runtime/event"
)

func openOn(t *testing.T, path, vfs string, log event.Log) (board.Board, error) {
	t.Helper()
	limits := board.DefaultLimits()
	limits.PerMinute = 1 << 30 // a thousand cuts make more calls in a minute than an agent may
	b, err := open(context.Background(), Config{Path: path, Log: log, Limits: limits}, ground{vfs, 30})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, nil
}

func dumpOf(t *testing.T, b board.Board) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := b.Dump(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// cutMany writes, cuts the power, opens what the disk has kept, and compares it with
// the board that had no cut. The log is whole: what it keeps is its own tests' matter.
// It ends at a cut that left something else, or what cannot be opened, and says so.
func cutMany(t *testing.T, d *disk, name string, cuts int) (wrong bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	dir := t.TempDir()
	log := openLog(t, filepath.Join(dir, "events.db"))
	b, err := openOn(t, filepath.Join(dir, "board.db"), name, log)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Join(context.Background(), board.Agent{Name: "ann", Role: board.Worker})
	if err != nil {
		t.Fatal(err)
	}
	for i := range cuts {
		for n := range 1 + rng.IntN(30) {
			s := board.Statement{SQL: "insert into notes (topic, body) values ($1, $2)", Args: []any{fmt.Sprint(i), fmt.Sprintf("%0*d", rng.IntN(9000), n)}}
			if rng.IntN(4) == 0 {
				s = board.Statement{SQL: "delete from notes where id % 7 = $1", Args: []any{int64(rng.IntN(7))}}
			}
			if _, err := g.Do(context.Background(), s); err != nil {
				t.Fatal(err)
			}
		}
		left := d.cut(t, rng)
		cut, err := open(context.Background(), Config{Path: filepath.Join(left, "board.db"), Log: log}, ground{foldPages: foldPages})
		if err != nil {
			t.Logf("cut %d: %v", i, err)
			return true
		}
		wrong = !bytes.Equal(dumpOf(t, cut), dumpOf(t, b))
		if err := cut.Close(); err != nil {
			t.Fatal(err)
		}
		if wrong {
			t.Logf("cut %d left other tables", i)
			return true
		}
	}
	return false
}

// Whatever the disk makes of what was not flushed, tables catch up with the log.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	if cutMany(t, newDisk("board-cut"), "board-cut", *cuts) {
		t.Error("a cut left wrong tables")
	}
}

// The same on a disk that only says that it flushes must be noticed, or the test
// above sees nothing.
func TestPowerCutOnALyingDisk(t *testing.T) {
	t.Parallel()
	d := newDisk("board-lies")
	d.lies = true
	if !cutMany(t, d, "board-lies", 30) {
		t.Error("30 cuts on a disk that flushes nothing, and all was there")
	}
}

// Tables of another log, other files and a board that is open are refused.
func TestOtherLog(t *testing.T) {
	dir := t.TempDir()
	log := openLog(t, filepath.Join(dir, "events.db"))
	b, err := open(context.Background(), Config{Path: filepath.Join(dir, "board.db"), Log: log}, ground{foldPages: foldPages})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Join(context.Background(), board.Agent{Name: "ann", Role: board.Worker}); err != nil {
		t.Fatal(err)
	}
	if _, err := open(context.Background(), Config{Path: filepath.Join(dir, "board.db"), Log: log}, ground{foldPages: foldPages}); !errors.Is(err, board.ErrBusy) {
		t.Errorf("opened twice: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	other := openLog(t, filepath.Join(dir, "other.db"))
	if _, err := open(context.Background(), Config{Path: filepath.Join(dir, "board.db"), Log: other}, ground{foldPages: foldPages}); !errors.Is(err, board.ErrDamaged) {
		t.Errorf("with another log: %v", err)
	}
	if _, err := open(context.Background(), Config{Path: filepath.Join(dir, "events.db"), Log: log}, ground{foldPages: foldPages}); !errors.Is(err, board.ErrInvalid) {
		t.Errorf("on another file: %v", err)
	}
}
