package land

import (
	"context"
	"errors"
	"fmt"

	"dure/runtime/vcs"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// gitDone is git's merge of a landing with main as it stood.
type gitDone struct {
	w      *work
	main   object.ID
	tree   object.ID // of main
	answer *gitAnswer
	delta  *merge.Delta         // from main to the merge
	fresh  map[object.ID][]byte // files that the store has not got
	sizes  map[object.ID]int64
	err    error
}

// patience is how often main may move on under git before the loop waits for it.
const patience = 2

// startGit gives git the next landing. While it works, others go on landing; one
// that was overtaken too often makes the loop wait.
func (l *Lander) startGit(ctx context.Context) {
	for len(l.queue) > 0 && !l.gitBusy {
		w := l.queue[0]
		l.queue = l.queue[1:]
		w.tries++
		l.totals.GitMerges++
		if w.tries > patience {
			l.batch(ctx, l.fromGit(ctx, l.mergeByGit(ctx, w, l.main, l.tree)))
			continue
		}
		l.gitBusy = true
		go func(main, tree object.ID) { l.merged <- l.mergeByGit(ctx, w, main, tree) }(l.main, l.tree)
	}
}

// mergeByGit runs beside the loop, and touches nothing of its own.
func (l *Lander) mergeByGit(ctx context.Context, w *work, main, tree object.ID) *gitDone {
	g := &gitDone{w: w, main: main, tree: tree}
	if g.err = l.repo.Publish(ctx); g.err != nil {
		return g
	}
	if g.answer, g.err = l.git.merge(ctx, main, w.Commit); g.err != nil || !g.answer.clean {
		return g
	}
	g.fresh, g.sizes = map[object.ID][]byte{}, map[object.ID]int64{}
	read := func(id object.ID) ([]byte, error) {
		data, err := l.repo.Tree(ctx, id)
		if errors.Is(err, vcs.ErrNotFound) {
			return l.git.object(id, object.TypeTree)
		}
		return data, err
	}
	if g.delta, g.err = merge.Changed(read, tree, g.answer.tree, l.opt.Files); g.err != nil {
		return g
	}
	g.err = l.fetch(ctx, g)
	return g
}

// fetch reads the merged files, and checks that none has markers in it that main
// had not: a clean merge has none.
func (l *Lander) fetch(ctx context.Context, g *gitDone) error {
	for _, c := range g.delta.Changes {
		if !c.New.Mode.IsBlob() {
			continue
		}
		data, err := l.repo.Blob(ctx, c.New.ID)
		if errors.Is(err, vcs.ErrNotFound) {
			if data, err = l.git.object(c.New.ID, object.TypeBlob); err == nil {
				g.fresh[c.New.ID] = data
				if merge.Marked(data) {
					return fmt.Errorf("%w: %q of a clean merge %w", ErrGit, c.Path, ErrMarkers)
				}
			}
		}
		if err != nil {
			return err
		}
		g.sizes[c.New.ID] = int64(len(data))
	}
	return nil
}

// fromGit is the landing with what git made of it: a change from main as it stood
// to the merge, which is tried like any other. Where git finds conflicts, too, it
// is told at once.
func (l *Lander) fromGit(ctx context.Context, g *gitDone) []*work {
	w := g.w
	now := l.opt.Clock()
	switch {
	case g.err != nil:
		w.answer <- answer{err: g.err}
		return nil
	case !g.answer.clean:
		err := l.gitConflict(ctx, g)
		if e, ok := l.outcome(now, outcome{w: w, err: err}); ok {
			l.record([]Event{e})
		}
		w.answer <- answer{err: err}
		return nil
	}
	w.base, w.delta, w.fresh, w.sizes, w.tier = g.tree, g.delta, g.fresh, g.sizes, TierGit
	if p, ok := l.past.find(g.main); ok {
		w.descent.seen = p.number
	}
	return []*work{w}
}

// gitConflict makes the record of what git could not merge.
func (l *Lander) gitConflict(ctx context.Context, g *gitDone) error {
	t := &trial{l: l, w: g.w, ctx: ctx, draft: l.repo.Draft(), main: g.main, tree: g.tree}
	for _, f := range g.answer.files {
		why := g.answer.why[f.path]
		if why == "" {
			why = "CONFLICT"
		}
		if err := t.clash(FileConflict{Path: f.path, Why: why, Base: f.base, Ours: f.ours, Theirs: f.theirs}); err != nil {
			return err
		}
	}
	if len(t.clashes) == 0 { // of folders as a whole
		for p, why := range g.answer.why {
			if err := t.clash(FileConflict{Path: p, Why: why}); err != nil {
				return err
			}
		}
	}
	return t.conflict()
}
