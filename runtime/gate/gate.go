package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"dure/runtime/event"
)

// Stream of the log that holds the gate's events.
const Stream = "gate"

// What a caller branches on.
var (
	// ErrEnded: the team's work was ended; nobody goes on.
	ErrEnded = errors.New("the team was ended")
	// ErrUnknown: there is no such block without a decision.
	ErrUnknown = errors.New("no such blocked call")
	// ErrOpen: the gate is not stopped.
	ErrOpen = errors.New("the team is not stopped")
)

// Gate lets callers through while it is open. Open makes one.
type Gate struct {
	log event.Log

	// writing orders appends, so that events are applied as they lie in the log.
	writing sync.Mutex

	mu      sync.Mutex
	state   State
	closing int           // stops on their way into the log; nobody enters
	unsaid  bool          // a stop could not be written; nobody enters until a person decides
	inside  int           // callers that entered and did not leave
	changed chan struct{} // closed at each change
}

// Open reads what the log holds. A gate that was stopped when its process died is
// stopped.
func Open(ctx context.Context, log event.Log) (*Gate, error) {
	g := &Gate{log: log, state: NewState(), changed: make(chan struct{})}
	for e, err := range log.Read(ctx, Stream, 0) {
		if err == nil {
			g.state, err = g.state.Apply(e)
		}
		if err != nil {
			return nil, fmt.Errorf("open gate: %w", err)
		}
	}
	return g, nil
}

// State is where the gate stands.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.state
	if g.shut() && s.Phase == PhaseOpen {
		s.Phase = PhaseStopped
	}
	return s
}

// Inside is how many callers entered and did not leave.
func (g *Gate) Inside() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside
}

// Wait returns the state as soon as it differs from a phase.
func (g *Gate) Wait(ctx context.Context, from Phase) (State, error) {
	for {
		g.mu.Lock()
		changed := g.changed
		g.mu.Unlock()
		if s := g.State(); s.Phase != from {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return State{}, ctx.Err()
		}
	}
}

// Enter waits until the gate is open and lets the caller through; leave is called
// when what it entered for is done. Errors: ErrEnded, ctx's.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g.mu.Lock()
		if g.state.Phase == PhaseEnded {
			g.mu.Unlock()
			return nil, ErrEnded
		}
		if g.state.Phase == PhaseOpen && !g.shut() {
			g.inside++
			g.mu.Unlock()
			return sync.OnceFunc(g.leave), nil
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (g *Gate) leave() {
	g.mu.Lock()
	g.inside--
	g.notify()
	g.mu.Unlock()
}

// notify wakes all who wait. The caller holds mu.
func (g *Gate) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Block stops the gate because of a call, at once. A call that was blocked before, or
// decided about, stays so, and the gate as it is. Errors are those of the log, after
// which the gate stays stopped all the same.
func (g *Gate) Block(ctx context.Context, b Block) error {
	if g.Blocked(b.CallID) {
		return nil
	}
	e, err := kinds.blocked.New(b)
	if err != nil {
		return fmt.Errorf("gate: block: %w", err)
	}
	// The same call blocked twice is the same event.
	e.ID = event.DerivedID(kinds.blocked.Name(), b.Agent, b.Call)
	if err := g.close(ctx, e); err != nil && !errors.Is(err, event.ErrDuplicate) {
		return fmt.Errorf("gate: block: %w", err)
	}
	return nil
}

// Blocked says whether a call was ever blocked.
func (g *Gate) Blocked(id CallID) bool {
	s := g.State()
	return s.Decision(id) != "" || slices.ContainsFunc(s.Blocks, func(b Block) bool { return b.CallID == id })
}

// Decided waits for a person's decision about a blocked call. Errors: ErrUnknown, ctx's.
func (g *Gate) Decided(ctx context.Context, id CallID) (Decision, error) {
	for {
		g.mu.Lock()
		d, changed := g.state.Decision(id), g.changed
		g.mu.Unlock()
		if d != "" {
			return d, nil
		}
		if !g.Blocked(id) {
			return "", fmt.Errorf("gate: %w: %s of agent %s", ErrUnknown, id.Call, id.Agent)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// Stop stops the gate at the wish of a person or a limit.
func (g *Gate) Stop(ctx context.Context, by, reason string) error {
	e, err := kinds.stopped.New(Stop{By: by, Reason: reason})
	if err == nil {
		err = g.close(ctx, e)
	}
	if err != nil {
		return fmt.Errorf("gate: stop: %w", err)
	}
	return nil
}

// close keeps everybody out, then writes the event that says why. When it cannot be
// written, the gate stays closed until a person's decision can be.
func (g *Gate) close(ctx context.Context, e event.Event) error {
	g.mu.Lock()
	if g.state.Phase == PhaseEnded {
		g.mu.Unlock()
		return ErrEnded
	}
	g.closing++
	g.notify()
	g.mu.Unlock()
	err := g.append(ctx, e, nil)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing--
	if err != nil && !errors.Is(err, event.ErrDuplicate) {
		g.unsaid = true
	}
	g.notify()
	return err
}

// shut says that nobody enters although no event says so. The caller holds mu.
func (g *Gate) shut() bool { return g.closing > 0 || g.unsaid }

// Resume opens the gate; calls that are blocked are refused, and their agents told
// why.
func (g *Gate) Resume(ctx context.Context, by, note string) error {
	e, err := kinds.resumed.New(resumed{By: by, Note: note})
	if err == nil {
		err = g.append(ctx, e, func(s State) error {
			if s.Phase != PhaseStopped {
				return ErrOpen
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("gate: resume: %w", err)
	}
	return nil
}

// Overrule has a blocked call carried out. The gate opens when it was the last that
// kept it stopped.
func (g *Gate) Overrule(ctx context.Context, by string, id CallID, note string) error {
	e, err := kinds.overruled.New(overruled{CallID: id, By: by, Note: note})
	if err == nil {
		err = g.append(ctx, e, func(s State) error {
			for _, b := range s.Blocks {
				if b.CallID == id {
					return nil
				}
			}
			return fmt.Errorf("%w: %s of agent %s", ErrUnknown, id.Call, id.Agent)
		})
	}
	if err != nil {
		return fmt.Errorf("gate: overrule: %w", err)
	}
	return nil
}

// End lets nobody through any more. Whoever waits gets ErrEnded.
func (g *Gate) End(ctx context.Context, by, reason string) error {
	e, err := kinds.ended.New(Stop{By: by, Reason: reason})
	if err == nil {
		err = g.append(ctx, e, nil)
	}
	if err != nil {
		return fmt.Errorf("gate: end: %w", err)
	}
	return nil
}

// append writes an event and applies it. may, if not nil, sees the state that the
// event will meet. An append that has begun is not given up with ctx: what the log
// holds and what the gate does must not part. What an append left in the log whose
// outcome was not known is applied first.
func (g *Gate) append(ctx context.Context, e event.Event, may func(State) error) error {
	g.writing.Lock()
	defer g.writing.Unlock()
	if e.ID == (event.ID{}) {
		e.ID = event.NewID()
	}
	ctx = context.WithoutCancel(ctx)
	for try := 0; ; try++ {
		if err := g.catchUp(ctx); err != nil {
			return err
		}
		s := g.State()
		if s.Phase == PhaseEnded {
			return ErrEnded
		}
		if may != nil {
			if err := may(s); err != nil {
				return err
			}
		}
		_, err := g.log.Append(ctx, Stream, s.last, e)
		switch {
		case errors.Is(err, event.ErrConflict) && try == 0:
			continue
		case err == nil, errors.Is(err, event.ErrDuplicate):
			return errors.Join(err, g.catchUp(ctx))
		}
		return err
	}
}

// catchUp applies what the log has beyond the state. Resuming also opens a gate that
// is closed only because a stop could not be written.
func (g *Gate) catchUp(ctx context.Context) error {
	g.mu.Lock()
	s := g.state
	g.mu.Unlock()
	var err error
	resumes := false
	for e, readErr := range g.log.Read(ctx, Stream, s.last+1) {
		if readErr != nil {
			return readErr
		}
		if s, err = s.Apply(e); err != nil {
			return err
		}
		resumes = resumes || e.Type == kinds.resumed.Name()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = s
	if resumes {
		g.unsaid = false
	}
	g.notify()
	return nil
}
