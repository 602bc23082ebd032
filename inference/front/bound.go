package front

import (
	"context"
	"errors"
	"time"

	"dure/inference"
)

// bounded does the work of a generation until its own deadline passes or its
// agent is stopped, also while its model is loaded or a later choice waits. The
// model is told the deadline too, for the sake of its queue.
func (h *Handler) bounded(ctx context.Context, x *Exchange, work func(context.Context) error) error {
	ctx, leave, err := h.team.Enter(ctx, x.progress.caller)
	if err != nil {
		return err
	}
	defer leave()
	if ms := x.progress.caller.DeadlineMS; ms > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, x.start.Add(time.Duration(ms)*time.Millisecond), inference.ErrDeadline)
		defer cancel()
	}
	err = work(ctx)
	var lost *clientError
	if err == nil || ctx.Err() == nil || errors.As(err, &lost) {
		return err
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, inference.ErrAgentStopped):
		return cause
	case errors.Is(cause, inference.ErrDeadline):
		return x.late()
	}
	return err
}

// late is the error for an answer whose deadline passed.
func (x *Exchange) late() error {
	during := map[phase]string{
		phaseLoad:   "its model was loaded",
		phasePrompt: "the request waited for its turn or its prompt was read",
		phaseDecode: "its text was written",
	}
	e := inference.Errorf(inference.CodeDeadline, "deadline_ms: %d ms have passed since the request came, while %s",
		x.progress.caller.DeadlineMS, during[x.progress.phase])
	e.Param = "deadline_ms"
	return e
}

// timeLeft is how much of the deadline is left, in milliseconds; 0 where there
// is none. The model counts from when it gets the request.
func (x *Exchange) timeLeft() int {
	ms := x.progress.caller.DeadlineMS
	if ms == 0 {
		return 0
	}
	return max(1, ms-int(time.Since(x.start).Milliseconds()))
}
