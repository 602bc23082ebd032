package world

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"dure/runtime/board"
	"dure/runtime/event"
	"dure/runtime/swarm"
	"dure/runtime/vcs"
)

// DefaultFloor is above what a sandbox needs (sandbox.Options.DiskFloor), so that the run
// waits before commands are ended for want of room.
const DefaultFloor = 768 << 20

// spaceEvery is how often the free space is looked at.
const spaceEvery = 5 * time.Second

// freeBytes is what is free to this program on the disk of a folder.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(min(st.Bavail, 1<<62/uint64(st.Bsize))) * st.Bsize, nil
}

// noRoom reports whether an error comes of a full disk, wherever that was noticed.
func noRoom(err error) bool {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, event.ErrFull, vcs.ErrFull, board.ErrFull} {
		if errors.Is(err, full) {
			return true
		}
	}
	return false
}

// space holds agents up between a turn and its calls while there is no room. The zero
// space has room.
type space struct {
	mu  sync.Mutex
	low chan struct{} // closed when there is room again; nil: there is
}

// set says whether there is room.
func (s *space) set(room bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case room && s.low != nil:
		close(s.low)
		s.low = nil
	case !room && s.low == nil:
		s.low = make(chan struct{})
	}
}

// wait returns when there is room, or ctx ends.
func (s *space) wait(ctx context.Context) {
	s.mu.Lock()
	low := s.low
	s.mu.Unlock()
	if low == nil {
		return
	}
	select {
	case <-low:
	case <-ctx.Done():
	}
}

// roomAgain is how much must be free for a run that waits to go on: more than the floor,
// so that it does not stop again at once.
func (w *World) roomAgain() int64 { return w.Floor + w.Floor/3 }

// WatchSpace has the run wait while its disk is nearly full, until ctx ends.
func (w *World) WatchSpace(ctx context.Context) {
	for {
		if err := w.lookAtSpace(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, swarm.ErrNotRunning) {
			w.Logger.Warn("nobody watches whether there is room", "error", err)
		}
		if sleep(ctx, spaceEvery) != nil {
			return
		}
	}
}

func (w *World) lookAtSpace(ctx context.Context) error {
	free, err := w.Free(w.Dir)
	switch {
	case err != nil:
		return err
	case free < w.Floor:
		w.space.set(false)
		return w.run.Full(ctx, fmt.Sprintf("The disk of %s has %d MiB left; the run needs %d MiB to go on.", w.Dir, free>>20, w.roomAgain()>>20))
	case free >= w.roomAgain():
		w.space.set(true)
		return w.run.Room(ctx)
	}
	return nil
}
