package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"dure/runtime/sandbox"
	"dure/runtime/swarm"
	"dure/runtime/vcs/land"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// Watch tells the run of hot files: of those that the landing job knows, then of what it
// finds (land.Options.Found), until ctx ends.
func (w *World) Watch(ctx context.Context, found <-chan land.Finding) {
	known, err := w.Lander.Findings(ctx)
	if err != nil {
		w.unheard(ctx, err)
	}
	for _, f := range known {
		w.unheard(ctx, w.hot(ctx, f))
	}
	for {
		select {
		case f := <-found:
			w.unheard(ctx, w.hot(ctx, f))
		case <-ctx.Done():
			return
		}
	}
}

// unheard says that a hot file was not told: the next process finds it again.
func (w *World) unheard(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, swarm.ErrNotRunning) {
		w.Logger.Warn("a file that is in the way is not split", "error", err)
	}
}

// hot tells the run of a file, if main has it as a text.
func (w *World) hot(ctx context.Context, f land.Finding) error {
	head, err := w.main()
	if err != nil {
		return err
	}
	tree, err := w.Repo.TreeAt(ctx, head)
	if err != nil {
		return err
	}
	e, _, err := merge.NewFinder(func(id object.ID) ([]byte, error) { return w.Repo.Tree(ctx, id) }).Find(tree, f.Path)
	if err != nil || e.Mode != object.ModeFile && e.Mode != object.ModeExecutable {
		return err
	}
	text, err := w.Repo.Blob(ctx, e.ID)
	if err != nil {
		return err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil // it has no lines that could be moved
	}
	return w.run.Hot(ctx, swarm.Found{Path: f.Path, Why: f.Why, Size: int64(len(text))})
}

// block keeps all others from the file that an assignment splits.
func (w *World) block(ctx context.Context, a swarm.Assignment) error {
	if a.File == "" {
		return nil
	}
	b := land.Block{Path: a.File, Task: string(a.Task), Splitter: a.Agent}
	s, err := w.Lander.State(ctx, 0)
	if err != nil || s.Blocked[a.File] == b {
		return err
	}
	return w.Lander.Block(ctx, b)
}

// Open implements swarm.World.
func (w *World) Open(ctx context.Context, o swarm.Opening) error {
	s, err := w.Lander.State(ctx, 0)
	if _, blocked := s.Blocked[o.Path]; err == nil && blocked {
		err = w.Lander.Unblock(ctx, o.Path)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", o.Path, err)
	}
	return nil
}

// lookAgain is how often who waits for a file looks whether it was split.
const lookAgain = time.Second

// commitWhenFree commits what an agent is done with. Where that changes a file that is
// being split, it waits for that: the change is then carried to the file's parts when it
// lands.
func (w *World) commitWhenFree(ctx context.Context, b *sandbox.Box, name string, base object.ID, message string) (committed, error) {
	for {
		c, err := w.commit(ctx, b, name, base, message)
		if !errors.Is(err, land.ErrBlocked) {
			return c, err
		}
		if stop := sleep(ctx, lookAgain); stop != nil {
			return c, errors.Join(err, stop)
		}
	}
}
