package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"dure/runtime/event"
	"dure/runtime/swarm"
	"dure/runtime/vcs"
)

// told is a run that notes what it is told of room.
type told struct {
	Run
	full []string
	room int
}

func (r *told) Full(_ context.Context, why string) error { r.full = append(r.full, why); return nil }
func (r *told) Room(context.Context) error               { r.room++; return nil }

// Agents are held between a turn and its calls while the disk is nearly full, and the run
// hears of both borders, which lie apart.
func TestSpaceIsWatched(t *testing.T) {
	run, free := &told{}, int64(0)
	w := &World{run: run, Config: Config{Dir: "/run", Floor: 300, Free: func(string) (int64, error) { return free, nil }}}
	held := func() bool {
		w.space.mu.Lock()
		defer w.space.mu.Unlock()
		return w.space.low != nil
	}
	for _, c := range []struct {
		free       int64
		full, room int
		held       bool
	}{{1000, 0, 1, false}, {300, 0, 1, false}, {299, 1, 1, true}, {399, 1, 1, true}, {10, 2, 1, true}, {400, 2, 2, false}} {
		free = c.free
		if err := w.lookAtSpace(t.Context()); err != nil || len(run.full) != c.full || run.room != c.room || held() != c.held {
			t.Errorf("%d free: told %d times of none, %d of room, held %v, %v", free, len(run.full), run.room, held(), err)
		}
	}
	if !strings.Contains(run.full[0], "/run") {
		t.Errorf("said %q", run.full[0])
	}
	// Who waits goes on when there is room, or when nobody waits for it any more.
	w.space.set(false)
	went := make(chan struct{})
	go func() { w.space.wait(t.Context()); close(went) }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.space.wait(ctx)
	w.space.set(true)
	<-went
	if n, err := freeBytes(t.TempDir()); err != nil || n <= 0 {
		t.Errorf("%d bytes are free here: %v", n, err)
	}
}

// A full disk is known as one wherever it shows.
func TestNoRoom(t *testing.T) {
	_, err := os.Stat("/dev/full")
	if err == nil {
		err = os.WriteFile("/dev/full", []byte("x"), 0)
	}
	if err == nil {
		t.Fatal("/dev/full has room")
	}
	for _, full := range []error{err, event.ErrFull, vcs.ErrFull} {
		if known := known(fmt.Errorf("work: %w", full)); !errors.Is(known, swarm.ErrFull) || !errors.Is(known, full) {
			t.Errorf("%v is not known as a full disk", full)
		}
	}
	if err := known(errors.New("else")); errors.Is(err, swarm.ErrFull) {
		t.Error("another error is taken for a full disk")
	}
}
