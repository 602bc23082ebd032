package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dure/runtime/swarm"
	"dure/runtime/vcs/land"
	"dure/runtime/vcs/object"
)

// Land implements swarm.World.
func (w *World) Land(ctx context.Context, l swarm.Landing) (swarm.LandResult, error) {
	commit, err := object.ParseID(l.Commit)
	if err != nil {
		return swarm.LandResult{}, fmt.Errorf("land %s: %w", l.Task, err)
	}
	q := land.Request{Agent: l.Agent, Task: string(l.Task), Commit: commit, Resolves: l.Conflict, Split: l.File, Wait: true}
	landed, err := w.Lander.Land(ctx, q)
	if errors.Is(err, land.ErrUnknown) {
		// The conflict is from before a restart. The commit has both sides as ancestors,
		// and lands like any other.
		q.Resolves = ""
		landed, err = w.Lander.Land(ctx, q)
	}
	return w.landed(l, landed, err)
}

func (w *World) landed(l swarm.Landing, landed land.Landed, err error) (swarm.LandResult, error) {
	var conflict *land.ConflictError
	switch {
	case err == nil:
		w.tidy(l)
		if g := w.green.Load(); g != nil {
			g.Moved()
		}
		return swarm.LandResult{Main: landed.Commit.String()}, nil
	case errors.Is(err, land.ErrLanded):
		// It landed before a crash, or changes nothing.
		head, err := w.main()
		if err == nil {
			w.tidy(l)
		}
		return swarm.LandResult{Main: head.String()}, err
	case errors.As(err, &conflict):
		return swarm.LandResult{Conflict: conflictOf(conflict.Conflict)}, nil
	case errors.Is(err, land.ErrMarkers), errors.Is(err, land.ErrUnrelated), errors.Is(err, land.ErrBlocked), errors.Is(err, land.ErrInvalid):
		return swarm.LandResult{Refused: err.Error()}, nil
	}
	return swarm.LandResult{}, known(fmt.Errorf("land %s: %w", l.Task, err))
}

func conflictOf(c *land.Conflict) *swarm.Conflict {
	out := &swarm.Conflict{ID: c.ID}
	var detail strings.Builder
	for _, f := range c.Files {
		fmt.Fprintf(&detail, "%s: %s\n", f.Path, f.Why)
		side := swarm.Side{Agent: f.OursBy.Agent, Task: swarm.TaskID(f.OursBy.Task)}
		if side.Agent == "" {
			continue
		}
		known := false
		for _, s := range out.With {
			known = known || s == side
		}
		if !known {
			out.With = append(out.With, side)
		}
	}
	out.Detail = detail.String()
	return out
}

// tidy removes the boxes of a task that has landed. What cannot be removed stays.
func (w *World) tidy(l swarm.Landing) {
	threads, err := filepath.Glob(w.boxDir(l.Agent, string(l.Task)+"-*"))
	for _, dir := range threads {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		w.Logger.Warn("files of a task that has landed stay", "task", l.Task, "error", err)
	}
}
