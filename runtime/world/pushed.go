package world

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dure/runtime/vcs"
	"dure/runtime/vcs/merge"
	"dure/runtime/vcs/object"
)

// What an agent pushes from its shell and what it changes in its workspace are two ways
// to one branch. The workspace stands on the thread's base and knows nothing of pushes,
// so that its files cannot simply take the place of the branch's: they would undo what was
// pushed, and what of main came with it. What changed in the workspace since the harness
// committed it last is put onto the branch; a commit whose tree is not the workspace's
// says in its message what that was.

// errDiverged: the agent pushed one thing, and has another in its workspace.
var errDiverged = errors.New("your branch, as you pushed it, and your workspace contradict each other: have the workspace hold what you want, and push no other")

// mostPushed bounds how far back the harness's last commit is looked for.
const mostPushed = 1000

// workspaceLine begins the line of a message that names the workspace's tree.
const workspaceLine = "Workspace: "

// A stand is what is known of a workspace from its branch.
type stand struct {
	commit object.ID // that the harness made last, or the base of the branch
	tree   object.ID // what the workspace was then
}

// lastStand looks for the commit of a branch that the harness made last. Those have the
// agent as author and the harness as committer, which no push has.
func (w *World) lastStand(ctx context.Context, head, base object.ID) (stand, error) {
	harness := w.Repo.Signature(vcs.Owner())
	id := head
	for range mostPushed {
		if id == base || id.IsZero() {
			break
		}
		c, err := w.Repo.Commit(ctx, id)
		if err != nil {
			return stand{}, err
		}
		if c.Committer.Name == harness.Name && c.Committer.Email == harness.Email && len(c.Parents) > 0 {
			return stand{id, workspaceOf(c)}, nil
		}
		id = object.Zero
		if len(c.Parents) > 0 {
			id = c.Parents[0]
		}
	}
	tree, err := w.Repo.TreeAt(ctx, base)
	return stand{base, tree}, err
}

func workspaceOf(c object.Commit) object.ID {
	tree := c.Tree
	for line := range strings.Lines(c.Message) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), workspaceLine); ok {
			if id, err := object.ParseID(rest); err == nil {
				tree = id
			}
		}
	}
	return tree
}

// combine is the tree of a branch's next commit: the workspace, or, where the branch has
// what the workspace does not, its changes put onto that.
func (w *World) combine(ctx context.Context, d *vcs.Draft, last stand, head, now, workspace object.ID) (object.ID, error) {
	if last.commit == head && last.tree == now {
		return workspace, nil
	}
	read := func(tree object.ID) ([]byte, error) { return d.Tree(ctx, tree) }
	delta, err := merge.Changed(read, last.tree, workspace, mostMerged)
	if err != nil {
		return object.Zero, err
	}
	decisions, err := merge.Decide(read, delta, now)
	if err != nil {
		return object.Zero, err
	}
	var changes []vcs.Change
	for _, dec := range decisions {
		c, change, err := clean(ctx, d, dec)
		if err != nil {
			return object.Zero, fmt.Errorf("%s: %w", dec.Path, err)
		}
		if change {
			changes = append(changes, c)
		}
	}
	return d.Splice(ctx, now, changes)
}

// saying is a message that names the workspace, where the tree is another.
func saying(message string, tree, workspace object.ID) string {
	if tree == workspace && !strings.Contains(message, workspaceLine) {
		return message
	}
	return strings.TrimRight(message, "\n") + "\n\n" + workspaceLine + workspace.String() + "\n"
}

// clean is the change that a decision comes to, if nobody has to choose.
func clean(ctx context.Context, r vcs.Reader, d merge.Decision) (c vcs.Change, change bool, err error) {
	switch d.Verdict {
	case merge.Done:
		return c, false, nil
	case merge.Take:
		if d.New.Mode == 0 {
			return vcs.Change{Path: d.Path}, true, nil
		}
		return vcs.Change{Path: d.Path, Mode: d.Mode, Blob: d.New.ID}, true, nil
	case merge.Hard:
		return c, false, errDiverged
	}
	var texts [3][]byte
	for i, e := range []object.Entry{d.Old, d.Ours, d.New} {
		if e.Mode == 0 {
			continue
		}
		if texts[i], err = r.Blob(ctx, e.ID); err != nil {
			return c, false, err
		}
	}
	m, err := merge.Text(texts[0], texts[1], texts[2], merge.Whole, merge.Limits{})
	if errors.Is(err, merge.ErrBinary) || errors.Is(err, merge.ErrTooLarge) {
		return c, false, errDiverged
	}
	if err != nil {
		return c, false, err
	}
	text, ok := m.Bytes()
	if !ok {
		return c, false, errDiverged
	}
	mode := d.Mode
	if mode == 0 {
		mode = d.Ours.Mode
	}
	return vcs.Change{Path: d.Path, Mode: mode, Data: text}, true, nil
}
