package land

import (
	"context"
	"fmt"

	"dure/runtime/vcs"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// A Request asks for a landing. Agent is who the harness says it is.
type Request struct {
	Agent  string
	Task   string
	Commit object.ID // of the agent's branch; all its ancestors land with it
	// Resolves names the conflict that this settles. The commit has both sides as
	// ancestors, or does their work anew.
	Resolves string
	// Split is the path of a file that this commit splits. Where its lines went is
	// found by comparison, recorded, and used for changes that still wait.
	Split string
	// Wait has the landing wait while a file of it is blocked, until that was split.
	// Otherwise it is refused with a BlockedError.
	Wait bool
}

// work is a landing under way. The goroutine that called Land prepares it, then
// the loop has it.
type work struct {
	Request
	ctx     context.Context
	answer  chan answer // holds one
	commit  object.Commit
	descent descent
	base    object.ID // the tree that the change starts from
	delta   *merge.Delta
	sizes   map[object.ID]int64  // of new files
	fresh   map[object.ID][]byte // files of git's merge, which the store has not got
	claim   string
	root    string // of the conflict that it settles
	tries   int    // merges by git so far
	tier    Tier   // of git's merge, once there was one
}

type answer struct {
	landed Landed
	err    error
}

func (w *work) paths() []string {
	out := make([]string, len(w.delta.Changes))
	for i, c := range w.delta.Changes {
		out[i] = c.Path
	}
	return out
}

// prepare does what needs no decision: where the commit hangs on main, what it
// changes, and that it may be asked for at all.
func (l *Lander) prepare(ctx context.Context, q Request) (*work, error) {
	actor, err := vcs.Agent(q.Agent)
	if err != nil {
		return nil, err
	}
	w := &work{Request: q, ctx: ctx, answer: make(chan answer, 1), claim: "agent " + q.Agent}
	if err := l.own(ctx, actor, q.Commit); err != nil {
		return nil, err
	}
	if w.commit, err = l.repo.Commit(ctx, q.Commit); err != nil {
		return nil, err
	}
	return w, l.compare(ctx, w)
}

// compare finds what a commit changes, seen from where it left main.
func (l *Lander) compare(ctx context.Context, w *work) error {
	var err error
	if w.descent, err = l.past.descent(ctx, l.repo, w.Commit); err != nil {
		return err
	}
	switch {
	case len(w.descent.news) == 0:
		return ErrLanded
	case len(w.descent.bases) == 0:
		return ErrUnrelated
	}
	// With several bases only git knows how to begin: the first serves to list paths.
	if w.base, err = l.repo.TreeAt(ctx, w.descent.bases[0]); err != nil {
		return err
	}
	if w.delta, err = merge.Changed(l.reader(ctx), w.base, w.commit.Tree, l.opt.Files); err != nil {
		return err
	}
	return l.look(ctx, w)
}

// own checks that a commit is on the agent's branch.
func (l *Lander) own(ctx context.Context, agent vcs.Actor, commit object.ID) error {
	tip, ok := l.repo.Ref(agent.Branch())
	if !ok {
		return fmt.Errorf("%w: there is no branch %s", ErrNotOwn, agent.Branch())
	}
	if tip == commit {
		return nil
	}
	d, err := l.past.descent(ctx, l.repo, tip)
	if err != nil {
		return err
	}
	for _, id := range d.news {
		if id == commit {
			return nil
		}
	}
	if _, landed := l.past.find(commit); landed {
		return ErrLanded
	}
	return ErrNotOwn
}

// look reads the new files: how large they are, and that no conflict is left in them.
func (l *Lander) look(ctx context.Context, w *work) error {
	w.sizes = make(map[object.ID]int64, len(w.delta.Changes))
	for _, c := range w.delta.Changes {
		if c.New.Mode == 0 || c.New.Mode == object.ModeGitlink {
			continue
		}
		data, err := l.repo.Blob(ctx, c.New.ID)
		if err != nil {
			return err
		}
		w.sizes[c.New.ID] = int64(len(data))
		if c.New.Mode == object.ModeLink || !merge.Marked(data) {
			continue
		}
		if c.Old.Mode != 0 && c.Old.Mode != object.ModeGitlink {
			old, err := l.repo.Blob(ctx, c.Old.ID)
			if err != nil {
				return err
			}
			if merge.Marked(old) { // about markers, or somebody's example of them
				continue
			}
		}
		return fmt.Errorf("%q: %w", c.Path, ErrMarkers)
	}
	return nil
}

// reader reads trees of the store.
func (l *Lander) reader(ctx context.Context) merge.Read {
	return func(id object.ID) ([]byte, error) { return l.repo.Tree(ctx, id) }
}

// stale reports whether commits of a prepared landing came to main meanwhile.
func (l *Lander) stale(w *work) bool {
	for _, id := range w.descent.news {
		if _, ok := l.past.find(id); ok {
			return true
		}
	}
	return false
}
