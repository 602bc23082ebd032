package vcs

import (
	"context"
	"fmt"

	"dure/runtime/vcs/object"
)

// A CommitRequest is what an agent wants committed on its branch. It does not say
// who commits: the agent is known by the socket it came in by, and is given beside.
type CommitRequest struct {
	// Old is where the branch must stand. Zero: it must not exist, and begins at Base.
	Old, Base object.ID
	// Merge are further parents.
	Merge   []object.ID
	Changes []Change
	Message string
	// AllowEmpty takes a commit that changes nothing.
	AllowEmpty bool
}

// Committed is what came of it.
type Committed struct{ Commit, Tree object.ID }

// Signature is how an actor signs what it does now.
func (r *Repository) Signature(a Actor) object.Signature {
	name := a.name
	switch a.role {
	case roleLanding:
		name = "landing"
	case roleOwner:
		name = "owner"
	case nobody, roleAgent:
	}
	return object.Signature{Name: name, Email: name + "@" + r.opt.MailDomain, When: r.opt.Clock()}
}

// CommitChanges commits changes on an agent's own branch. It is durable when this
// returns without an error. A StaleError says that the branch is elsewhere.
func (r *Repository) CommitChanges(ctx context.Context, agent Actor, q CommitRequest) (Committed, error) {
	out, err := r.commitChanges(ctx, agent, q)
	if err != nil {
		return Committed{}, fmt.Errorf("commit of %v: %w", agent, err)
	}
	return out, nil
}

func (r *Repository) commitChanges(ctx context.Context, agent Actor, q CommitRequest) (out Committed, err error) {
	if agent.role != roleAgent {
		return out, fmt.Errorf("%w: only agents have a branch to commit on", ErrInvalid)
	}
	if actual := r.refs.get(agent.Branch()); actual != q.Old {
		// Told before the work is done: most lost races are known by then.
		return out, &StaleError{Ref: agent.Branch(), Expected: q.Old, Actual: actual}
	}
	parent := q.Old
	if parent.IsZero() {
		parent = q.Base
	} else if !q.Base.IsZero() {
		return out, fmt.Errorf("%w: a base for a branch that exists", ErrInvalid)
	}
	if err := r.opt.Gate(ctx, agent.name, pathsOf(q.Changes)); err != nil {
		return out, err
	}
	if err := r.prepare.enter(ctx); err != nil {
		return out, err
	}
	d, out, err := r.draftCommit(ctx, agent, parent, q)
	r.prepare.leave()
	if err != nil {
		return out, err
	}
	return out, r.Apply(ctx, agent, d, Move{Ref: agent.Branch(), Old: q.Old, New: out.Commit})
}

// draftCommit is a commit of changes on a parent, which may be Zero.
func (r *Repository) draftCommit(ctx context.Context, agent Actor, parent object.ID, q CommitRequest) (d *Draft, out Committed, err error) {
	d = r.Draft()
	was := emptyTree
	c := object.Commit{Author: r.Signature(agent), Message: q.Message}
	c.Committer = c.Author
	if !parent.IsZero() {
		if was, err = r.TreeAt(ctx, parent); err != nil {
			return nil, out, err
		}
		c.Parents = []object.ID{parent}
	}
	c.Parents = append(c.Parents, q.Merge...)
	if c.Tree, err = d.Splice(ctx, was, q.Changes); err != nil {
		return nil, out, err
	}
	if c.Tree == was && len(q.Merge) == 0 && !q.AllowEmpty {
		return nil, out, ErrNothing
	}
	out.Tree = c.Tree
	out.Commit, err = d.PutCommit(ctx, c)
	return d, out, err
}

func pathsOf(changes []Change) []string {
	paths := make([]string, len(changes))
	for i := range changes {
		paths[i] = changes[i].Path
	}
	return paths
}
