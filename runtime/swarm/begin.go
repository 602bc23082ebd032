package swarm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"dure/runtime/event"
)

// Begin begins a run in a log that has none: the specification becomes the root task.
// SpecHash is filled in, and the limits that are zero. Errors: ErrRefused with a reason;
// event.ErrConflict: there is a run already.
func Begin(ctx context.Context, log event.Log, now time.Time, p Started) error {
	p.Limits = p.Limits.filled()
	if err := p.Limits.check(); err != nil {
		return fmt.Errorf("begin a run: %w", err)
	}
	switch {
	case strings.TrimSpace(p.Spec) == "" || len(p.Spec) > MaxSpec:
		return fmt.Errorf("begin a run: %w", refuse("a specification has 1 to %d bytes, not %d", MaxSpec, len(p.Spec)))
	case strings.TrimSpace(p.Check) == "" || len(p.Check) > MaxCheck:
		return fmt.Errorf("begin a run: %w", refuse("a run needs a check, the command that decides whether it is done, of at most %d bytes", MaxCheck))
	case len(p.Keep) > MaxCheck:
		return fmt.Errorf("begin a run: %w", refuse("a command that has to go on passing may have %d bytes", MaxCheck))
	}
	sum := sha256.Sum256([]byte(p.Spec))
	p.SpecHash = hex.EncodeToString(sum[:])
	events, err := encode(now, p, Submitted{Task: Root, Kind: KindPlan, Title: "the specification", Check: p.Check, Crew: MainCrew, By: Person})
	if err == nil {
		_, err = log.Append(ctx, Stream, 0, events...)
	}
	if err != nil {
		return fmt.Errorf("begin a run: %w", err)
	}
	return nil
}

// Load folds the run that a log holds. A log without one gives a state that is not
// started.
func Load(ctx context.Context, log event.Log) (*State, error) {
	s := NewState()
	for e, err := range log.Read(ctx, Stream, 0) {
		if err == nil {
			err = s.Apply(e)
		}
		if err != nil {
			return nil, fmt.Errorf("load the run: %w", err)
		}
	}
	return s, nil
}

// Extend gives a run that nobody runs more time, or other limits: Time is added, other
// fields that are not zero hold from now on. A run that has finished goes on with its
// next Run.
func Extend(ctx context.Context, log event.Log, now time.Time, by string, more Limits) (Limits, error) {
	s, err := Load(ctx, log)
	if err == nil && s.started == nil {
		err = refuse("there is no run")
	}
	var p Extended
	if err == nil {
		p, err = s.extension(by, more)
	}
	if err == nil {
		var events []event.Event
		if events, err = encode(now, p); err == nil {
			_, err = log.Append(ctx, Stream, s.last, events...)
		}
	}
	if err != nil {
		return Limits{}, fmt.Errorf("extend the run: %w", err)
	}
	return p.Limits, nil
}

func (s *State) extension(by string, more Limits) (Extended, error) {
	p := Extended{By: by, Limits: s.limits.extended(more)}
	switch {
	case more.Time < 0 || more.Agents < 0 || more.Active < 0 || more.Returns < 0:
		return p, refuse("a run is extended by more, not by less")
	case more.Time > 0 && s.limits.Time == 0:
		return p, refuse("the run has no limit of time")
	}
	if s.limits.Time > 0 && s.finished != nil && s.finished.Finish == FinishTime && more.Time <= 0 {
		return p, refuse("the run's time is up: say how much more it gets")
	}
	return p, p.Limits.check()
}
