package swarm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"dure/runtime/event"
)

// ErrNotRunning: the coordinator's Run has returned.
var ErrNotRunning = errors.New("the run is not being run")

// A Coordinator runs a run. New makes one; it is run once.
type Coordinator struct {
	log    event.Log
	world  World
	now    func() time.Time
	logger *slog.Logger
	inbox  chan func(*loop)
	ended  chan struct{}
}

// inboxSize bounds what waits for the loop. Who finds it full waits, too.
const inboxSize = 256

// New makes a coordinator for the run that a log holds. now is the clock of all events;
// a time that it waits for, it waits for on the machine's clock.
func New(log event.Log, world World, now func() time.Time, logger *slog.Logger) *Coordinator {
	return &Coordinator{log: log, world: world, now: now, logger: logger, inbox: make(chan func(*loop), inboxSize), ended: make(chan struct{})}
}

// Run goes on from where the log says the run is, until it finishes. When ctx ends, what
// is under way is given up, and the next Run does it again. Errors: ctx's; those of the
// log, event.ErrConflict among them: another process runs this run.
func (c *Coordinator) Run(ctx context.Context) (Finished, error) {
	defer close(c.ended)
	s, err := Load(ctx, c.log)
	if err != nil {
		return Finished{}, err
	}
	if s.started == nil {
		return Finished{}, fmt.Errorf("run: %w", refuse("the log holds no run: begin one"))
	}
	working, stop := context.WithCancel(ctx)
	l := &loop{c: c, s: s, base: s.last, works: map[Key]*work{}, ctx: working}
	defer l.wait()
	defer stop()
	l.begin()
	for {
		if err := l.step(ctx); err != nil {
			return Finished{}, fmt.Errorf("run: %w", err)
		}
		if s.finished != nil {
			return *s.finished, nil
		}
		if err := l.sleep(ctx); err != nil {
			return Finished{}, err
		}
	}
}
