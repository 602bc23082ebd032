package world

import (
	"context"
	"errors"

	"dure/runtime/swarm"
	"dure/runtime/vcs"
	"dure/runtime/vcs/land"
	"dure/runtime/vcs/object"
)

// keeper runs the command that has to go on passing on main.
type keeper struct {
	w       *World
	command string
}

// Check implements land.Checker.
func (k keeper) Check(ctx context.Context, commit object.ID) (land.Check, error) {
	passed, output, err := k.w.runCheck(ctx, k.command, commit)
	return land.Check{Passed: passed, Output: output}, err
}

// FollowMain has the ref green follow main by a command that has to go on passing, until
// ctx ends, and tells the run what it finds. Main's beginning has to pass, too.
func (w *World) FollowMain(ctx context.Context, command string) {
	tell := func(e land.GreenEvent) {
		if err := w.run.Checked(ctx, mainline(e)); err != nil && ctx.Err() == nil && !errors.Is(err, swarm.ErrNotRunning) {
			w.Logger.Warn("what main's checks found is not in the log", "error", err)
		}
	}
	g := land.NewGreen(w.Repo, keeper{w, command}, land.FollowPolicy{}, tell, w.Logger)
	w.green.Store(g)
	w.retell(ctx)
	if err := g.Run(ctx); err != nil && ctx.Err() == nil {
		w.Logger.Warn("main is not checked any more", "problem", command, "error", err)
	}
}

// retell tells the run where green is, which it may not know: a process that died between
// the two told it not.
func (w *World) retell(ctx context.Context) {
	at, ok := w.Repo.Ref(vcs.GreenRef)
	if !ok {
		return
	}
	known := ""
	err := w.run.Inspect(ctx, func(s *swarm.State) {
		if g := s.Green(); g != nil {
			known = g.Commit
		}
	})
	if err == nil && known != at.String() {
		err = w.run.Checked(ctx, swarm.Mainline{Green: at.String()})
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, swarm.ErrNotRunning) {
		w.Logger.Warn("the run does not know which commit of main is green", "error", err)
	}
}

func mainline(e land.GreenEvent) swarm.Mainline {
	name := func(id object.ID) string {
		if id.IsZero() {
			return ""
		}
		return id.String()
	}
	return swarm.Mainline{
		Green: name(e.Green), Broken: name(e.Broken), Flaky: name(e.Flaky), Mended: e.Mended,
		By: swarm.Side{Agent: e.By.Agent, Task: swarm.TaskID(e.By.Task)}, Output: swarm.ClipOutput(e.Output),
	}
}
