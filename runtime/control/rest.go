package control

import (
	"context"
	"errors"
	"fmt"

	"dure/runtime/budget"
	"dure/runtime/event"
	"dure/runtime/gate"
	"dure/runtime/swarm"
)

// ErrNoRun: the log holds no run.
var ErrNoRun = errors.New("the log holds no run")

// Resting is a run as its log alone has it: what a person is told while nobody runs it,
// or the process of the run does not answer. full adds the accounts, for which the whole
// log is read.
func Resting(ctx context.Context, log event.Log, running, full bool) (s Status, err error) {
	s, err = resting(ctx, log, full)
	if err != nil {
		return s, fmt.Errorf("read the run: %w", err)
	}
	s.State, s.Why = s.standing(running)
	return s, nil
}

func resting(ctx context.Context, log event.Log, full bool) (s Status, err error) {
	run, err := swarm.Load(ctx, log)
	if err != nil {
		return s, err
	}
	if run.Started() == nil {
		return s, ErrNoRun
	}
	v := Look(run)
	s.Run = &v
	if s.Gate, err = restingGate(ctx, log); err != nil {
		return s, err
	}
	if s.Accepted, err = accepted(ctx, log, run); err != nil || !full {
		return s, err
	}
	accounts, err := budget.Fold(ctx, log)
	if err == nil {
		r := accounts.Report()
		s.Accounts = &r
	}
	return s, err
}

func restingGate(ctx context.Context, log event.Log) (gate.State, error) {
	s := gate.NewState()
	for e, err := range log.Read(ctx, gate.Stream, 0) {
		if err == nil {
			s, err = s.Apply(e)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// accepted is what a person took last, unless the run went on since.
func accepted(ctx context.Context, log event.Log, run *swarm.State) (taken *Taken, err error) {
	for e, err := range log.Read(ctx, AcceptedStream, 0) {
		if err != nil {
			return nil, err
		}
		t, err := AcceptedType.Decode(e)
		if err != nil {
			return nil, err
		}
		taken = &t
	}
	if v := run.Verified(); taken != nil && v != nil && v.Commit != taken.Commit {
		taken = nil
	}
	return taken, nil
}
