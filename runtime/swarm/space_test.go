package swarm

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dure/runtime/event"
)

// narrow is a world, and a log, on a disk that is full for a while.
type narrow struct {
	*script
	*memory
	full func() bool
}

func (n narrow) Check(ctx context.Context, c Checking) (CheckResult, error) {
	if n.full() {
		return CheckResult{}, fmt.Errorf("check %s: %w: no space left on device", c.Task, ErrFull)
	}
	return n.script.Check(ctx, c)
}

func (n narrow) Append(ctx context.Context, stream string, expected event.Sequence, events ...event.Event) (event.Sequence, error) {
	if n.full() && n.logToo() {
		return 0, fmt.Errorf("append: %w", event.ErrFull)
	}
	return n.memory.Append(ctx, stream, expected, events...)
}

// logToo: a log needs less room than a box; it is full for the last part.
func (n narrow) logToo() bool { return n.full() && time.Now().Second() >= 30 }

// A full disk pauses the run and asks for room; nothing fails for it, no task comes back,
// and the run goes on by itself when there is room.
func TestFullDiskPausesTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, w := &memory{}, newScript(t, house)
		beginRun(t, log, houseLimits)
		from := time.Now().Add(10 * time.Second)
		n := narrow{w, log, func() bool { at := time.Now().Sub(from); return at > 0 && at < 10*time.Minute }}
		c := New(n, n, time.Now, quiet)
		w.c = c
		ctx, stop := context.WithCancel(t.Context())
		watched := make(chan struct{})
		var seen *Paused
		go func() { // as the world watches the disk
			defer close(watched)
			for w.wait(ctx, 5*time.Second) == nil {
				var err error
				if n.full() {
					err = c.Full(ctx, "no room")
				} else {
					err = c.Room(ctx)
				}
				if err == nil {
					err = c.Inspect(ctx, func(s *State) {
						if s.Paused() != nil {
							seen = s.Paused()
						}
					})
				}
				if err != nil && ctx.Err() == nil && !errors.Is(err, ErrNotRunning) {
					t.Error(err)
				}
			}
		}()
		f, err := c.Run(t.Context())
		stop()
		<-watched
		if err != nil || f.Finish != FinishDone || time.Since(from) < 10*time.Minute {
			t.Fatalf("finished %+v after %v: %v", f, time.Since(from), err)
		}
		checkHouse(t, log, w)
		s, err := Load(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		if seen == nil || seen.By != Harness || s.Paused() != nil {
			t.Errorf("paused %+v, now %+v", seen, s.Paused())
		}
		asked := 0
		for _, q := range s.Questions() {
			if q.Answer == nil || q.Answer.By != Harness || q.Holds {
				t.Errorf("question %+v", q)
			}
			asked++
		}
		if asked == 0 || asked > 3 {
			t.Errorf("a person was asked %d times", asked)
		}
	})
}

// A person's pause is not ended by room.
func TestRoomEndsNoOnesPause(t *testing.T) {
	b := approved(t, nil, step("one"))
	b.apply(Paused{By: "ada"})
	b.apply(b.s.full("no room")...)
	if more := b.s.full("no room"); more != nil {
		t.Errorf("asks twice: %+v", more)
	}
	b.apply(b.s.room()...)
	if b.s.Paused() == nil || b.s.room() != nil {
		t.Errorf("paused by %+v", b.s.Paused())
	}
}
