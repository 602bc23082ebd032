package sqlite

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"dure/runtime/event"
	"dure/runtime/event/eventtest"
)

// acks takes what eventtest.Write tells.
type acks struct {
	mu   sync.Mutex
	more *sync.Cond
	all  []eventtest.Ack
	goal int // the writers run a little ahead of it
}

// load runs writers on a log, as far as is asked for.
func load(t *testing.T, log event.Log) *acks {
	a := &acks{}
	a.more = sync.NewCond(&a.mu)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				a.mu.Lock()
				for len(a.all) > a.goal+30 {
					a.more.Wait()
				}
				a.mu.Unlock()
				seq, err := log.Append(context.Background(), "shared", event.Any, eventtest.Number(w, n))
				if errors.Is(err, event.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				a.mu.Lock()
				a.all = append(a.all, eventtest.Ack{Writer: w, N: n, Stream: "shared", Sequence: seq})
				a.mu.Unlock()
				a.more.Broadcast()
			}
		})
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		a.mu.Lock()
		a.goal = math.MaxInt - 30
		a.mu.Unlock()
		a.more.Broadcast()
		wg.Wait()
	})
	return a
}

// after waits for some more than it had, and returns all that are acknowledged.
func (a *acks) after(count int) []eventtest.Ack {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.goal = max(a.goal, count)
	a.more.Broadcast()
	for len(a.all) < count {
		a.more.Wait()
	}
	return a.all[:len(a.all):len(a.all)]
}

func openOn(t *testing.T, name, path string) event.Log {
	t.Helper()
	// It folds all the time: the database file is in danger only while that runs.
	log, err := open(context.Background(), Config{Path: path}, ground{vfs: name, steps: migrations, foldPages: 30})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// lost reports what a log, as it was found after a cut, lacks.
func lost(t *testing.T, dir string, told []eventtest.Ack) error {
	log, err := Open(context.Background(), Config{Path: filepath.Join(dir, "events.db")})
	if err != nil {
		return err
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	var events []event.Event
	for e, err := range log.ReadAll(context.Background(), 0) {
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	return check(events, told)
}

// check is CheckAcks without its limit on what is there and not acknowledged: here
// the load goes on while the cut is made.
func check(events []event.Event, told []eventtest.Ack) error {
	if err := eventtest.Check(events); err != nil {
		return err
	}
	place := make(map[event.Sequence]string)
	for _, e := range events {
		place[e.Sequence] = string(e.Payload)
	}
	for _, a := range told {
		if place[a.Sequence] != string(eventtest.Number(a.Writer, a.N).Payload) {
			return errors.New("an acknowledged event is gone")
		}
	}
	return nil
}

// Whatever the disk makes of what was not flushed: what was acknowledged is there,
// and what is there is in order.
func TestPowerCut(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for left := *cuts; left > 0; left -= 150 { // not too long a log
		d := newDisk("cut")
		log := openOn(t, "cut", filepath.Join(t.TempDir(), "events.db"))
		a := load(t, log)
		for i := range min(left, 150) {
			told := a.after(i*10 + rng.IntN(10))
			if err := lost(t, d.cut(t, rng), told); err != nil {
				t.Fatalf("%d cuts left, %d acknowledged, seed %d: %v", left-i, len(told), seed, err)
			}
		}
	}
	t.Logf("%d cuts under load", *cuts)
}

// The same on a disk that only says that it flushes must be noticed, or the test
// above sees nothing.
func TestPowerCutOnALyingDisk(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := newDisk("lies")
	d.lies = true
	log := openOn(t, "lies", filepath.Join(t.TempDir(), "events.db"))
	a := load(t, log)
	for i := range 50 {
		if lost(t, d.cut(t, rng), a.after((i+1)*10)) != nil {
			return
		}
	}
	t.Error("50 cuts on a disk that flushes nothing, and nothing was lost")
}

// A disk that is full wherever that happens: in the log, in the fold.
func TestFullAnywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	d := newDisk("full")
	path := filepath.Join(t.TempDir(), "events.db")
	log := openOn(t, "full", path)
	there := 0
	for range 15 {
		d.setRoom(int64(rng.IntN(60_000)))
		var err error
		for err == nil {
			if _, err = log.Append(context.Background(), "s", event.Sequence(there), eventtest.Number(0, there)); err == nil {
				there++
			}
			if there%500 == 0 {
				d.setRoom(int64(rng.IntN(5000))) // the fold makes room in the write-ahead file
			}
		}
		if !errors.Is(err, event.ErrFull) {
			t.Fatal(err)
		}
		wholeLog(t, log, there)
		d.setRoom(-1)
		if _, err := log.Append(context.Background(), "s", event.Sequence(there), eventtest.Number(0, there)); err != nil {
			t.Fatalf("with room again: %v", err)
		}
		there++
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	wholeLog(t, openAt(t, path), there)
}

func (d *disk) setRoom(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = n
}
