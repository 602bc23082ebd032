package world

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dure/runtime/swarm"
	"dure/runtime/vcs"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// mostMerged bounds what a merger gets to see joined.
const mostMerged = 200_000

// joined is a commit that a merger begins at: its parents are main and the commit that
// does not land, its tree is both, with markers where they contradict each other. It is
// on the merger's branch only; the landing job takes no tree with markers.
func (w *World) joined(ctx context.Context, a swarm.Assignment) (object.ID, error) {
	out, err := w.join(ctx, a)
	if err != nil {
		return out, fmt.Errorf("join both sides of %s: %w", a.Conflict.Conflict, err)
	}
	return out, nil
}

func (w *World) join(ctx context.Context, a swarm.Assignment) (object.ID, error) {
	theirs, err := object.ParseID(a.Conflict.Commit)
	if err != nil {
		return theirs, err
	}
	ours, err := w.main()
	if err != nil {
		return ours, err
	}
	base, err := w.mergeBase(ctx, ours, theirs)
	if err != nil {
		return base, err
	}
	d := w.Repo.Draft()
	tree, err := w.joinTrees(ctx, d, base, ours, theirs)
	if err != nil {
		return tree, err
	}
	who := w.Repo.Signature(vcs.Owner())
	id, err := d.PutCommit(ctx, object.Commit{
		Tree: tree, Parents: []object.ID{ours, theirs}, Author: who, Committer: who,
		Message: fmt.Sprintf("%s: main and the commit of %s, to be joined\n", a.Task, a.Conflict.Ours.Task),
	})
	if err != nil {
		return id, err
	}
	ref := vcs.BranchOf(a.Agent)
	old, _ := w.Repo.Ref(ref)
	return id, w.Repo.Apply(ctx, vcs.Owner(), d, vcs.Move{Ref: ref, Old: old, New: id})
}

// mergeBase is a last commit that both have. Of several, git chooses.
func (w *World) mergeBase(ctx context.Context, ours, theirs object.ID) (object.ID, error) {
	if err := w.Repo.Publish(ctx); err != nil {
		return object.Zero, err
	}
	text, err := w.Git.Output(ctx, w.Repo.Dir(), nil, "merge-base", ours.String(), theirs.String())
	if err != nil {
		return object.Zero, err
	}
	return object.ParseID(strings.TrimSpace(text))
}

func (w *World) joinTrees(ctx context.Context, d *vcs.Draft, commits ...object.ID) (object.ID, error) {
	var trees [3]object.ID
	for i, c := range commits {
		var err error
		if trees[i], err = w.Repo.TreeAt(ctx, c); err != nil {
			return object.Zero, err
		}
	}
	base, ours, theirs := trees[0], trees[1], trees[2]
	read := func(tree object.ID) ([]byte, error) { return w.Repo.Tree(ctx, tree) }
	delta, err := merge.Changed(read, base, theirs, mostMerged)
	if err != nil {
		return object.Zero, err
	}
	decisions, err := merge.Decide(read, delta, ours)
	if err != nil {
		return object.Zero, err
	}
	var changes []vcs.Change
	find := merge.NewFinder(read)
	for _, dec := range decisions {
		c, change, err := joinPath(ctx, w.Repo, dec)
		if err != nil {
			return object.Zero, fmt.Errorf("%s: %w", dec.Path, err)
		}
		if !change {
			continue
		}
		if c.Mode != 0 {
			if c.Path, err = beside(find, ours, c.Path); err != nil {
				return object.Zero, err
			}
		}
		changes = append(changes, c)
	}
	return d.Splice(ctx, ours, changes)
}

// beside is a path for what the other side has where main has a file in the way of its
// folder: a/q is a.theirs/q where a is a file.
func beside(find *merge.Finder, ours object.ID, path string) (string, error) {
	_, blocked, err := find.Find(ours, path)
	if err != nil || !blocked {
		return path, err
	}
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		e, _, err := find.Find(ours, path[:i])
		if err != nil {
			return path, err
		}
		if e.Mode != 0 && e.Mode != object.ModeTree {
			return path[:i] + ".theirs" + path[i:], nil
		}
	}
	return path, nil
}

// joinPath is one path of both sides. What is no text for merging by lines is left as
// main has it, and lies beside it as the other side has it.
func joinPath(ctx context.Context, r vcs.Reader, d merge.Decision) (vcs.Change, bool, error) {
	entry := func(e object.Entry) vcs.Change { return vcs.Change{Path: d.Path, Mode: e.Mode, Blob: e.ID} }
	switch {
	case d.Verdict == merge.Done:
		return vcs.Change{}, false, nil
	case d.Verdict == merge.Take && d.New.Mode == 0:
		return vcs.Change{Path: d.Path}, true, nil
	case d.Verdict == merge.Take:
		c := entry(d.New)
		c.Mode = d.Mode
		return c, true, nil
	case d.Ours.Mode == 0 && d.New.Mode != 0:
		return entry(d.New), true, nil // main removed what the other side changed
	case d.Ours.Mode == object.ModeTree && d.New.Mode.IsBlob():
		c := entry(d.New) // main has a folder where the other side has a file
		c.Path += ".theirs"
		return c, true, nil
	case d.Ours.Mode == 0 || d.New.Mode == 0 || !d.Ours.Mode.IsBlob() || !d.New.Mode.IsBlob():
		return vcs.Change{}, false, nil
	}
	text, err := joinText(ctx, r, d)
	if errors.Is(err, merge.ErrBinary) || errors.Is(err, merge.ErrTooLarge) {
		c := entry(d.New)
		c.Path += ".theirs"
		return c, true, nil
	}
	mode := d.Mode
	if mode == 0 {
		mode = d.Ours.Mode
	}
	return vcs.Change{Path: d.Path, Mode: mode, Data: text}, err == nil, err
}

func joinText(ctx context.Context, r vcs.Reader, d merge.Decision) ([]byte, error) {
	var texts [3][]byte
	for i, e := range []object.Entry{d.Old, d.Ours, d.New} {
		if e.Mode == 0 {
			continue
		}
		var err error
		if texts[i], err = r.Blob(ctx, e.ID); err != nil {
			return nil, err
		}
	}
	m, err := merge.Text(texts[0], texts[1], texts[2], merge.Whole, merge.Limits{})
	if err != nil {
		return nil, err
	}
	if merged, ok := m.Bytes(); ok {
		return merged, nil
	}
	return m.Render(merge.Labels{Ours: "main", Base: "before both", Theirs: "the commit that does not land"}, merge.Whole), nil
}
