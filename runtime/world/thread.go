package world

import (
	"context"
	"errors"
	"fmt"
	"os"

	"dure/runtime/agent"
	"dure/runtime/board"
	"dure/runtime/sandbox"
	"dure/runtime/swarm"
	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// A thread is one agent's work on one task, over all epochs in which the agent goes on
// with it.
type thread struct {
	born agent.Born
	// first is the epoch that it began with.
	first int
	// base is the commit that its box stands on.
	base object.ID
}

func threadName(task swarm.TaskID, epoch int) string { return fmt.Sprintf("%s-%d", task, epoch) }

// thread finds the thread that an assignment goes on with, or begins one.
func (w *World) thread(ctx context.Context, a swarm.Assignment) (thread, error) {
	for epoch := a.Epoch; epoch > 0; epoch-- {
		born, found, err := w.bornAs(ctx, a.Agent, threadName(a.Task, epoch))
		if err != nil {
			return thread{}, err
		}
		if found {
			base, err := object.ParseID(born.Base)
			return thread{born, epoch, base}, err
		}
		if a.Fresh {
			break
		}
	}
	return w.begin(ctx, a)
}

// bornAs is what the log says that an agent was born as in a thread.
func (w *World) bornAs(ctx context.Context, name, thread string) (born agent.Born, found bool, err error) {
	for e, err := range w.Log.Read(ctx, agent.Stream(name, thread), 0) {
		if err != nil {
			return born, false, err
		}
		born, err = agent.Events.Born.Decode(e)
		return born, err == nil, err
	}
	return born, false, nil
}

// begin begins a thread: nothing of it is in the log before the agent runs, and until
// then it is begun anew.
func (w *World) begin(ctx context.Context, a swarm.Assignment) (thread, error) {
	t := thread{first: a.Epoch}
	base, err := w.ground(ctx, a)
	if err != nil {
		return t, err
	}
	if err := os.RemoveAll(w.boxDir(a.Agent, threadName(a.Task, a.Epoch))); err != nil {
		return t, err
	}
	if commits(a.Role) {
		if err := w.branch(ctx, a.Agent, base); err != nil {
			return t, err
		}
	}
	mail, err := w.Log.Last(ctx, mailStream(a.Agent))
	if err != nil {
		return t, err
	}
	t.base = base
	t.born = agent.Born{
		Name: a.Agent, Thread: threadName(a.Task, a.Epoch), Parent: a.Parent, Role: string(a.Role),
		System: system(a.Role), Task: task(a), Finish: finish(a.Role), Base: base.String(), Mail: mail,
	}
	return t, nil
}

// commits says whose boxes become commits.
func commits(r swarm.Role) bool { return r == swarm.RoleWorker || r == swarm.RoleMerger }

// ground is the commit that a new thread stands on.
func (w *World) ground(ctx context.Context, a swarm.Assignment) (object.ID, error) {
	switch {
	case a.Role == swarm.RoleJudge:
		return object.ParseID(a.Check.Commit)
	case a.Kind == swarm.KindMerge:
		return w.joined(ctx, a)
	}
	return w.main()
}

// branch has an agent's branch begin at a commit, wherever it was. What was on it and
// did not land stays in the repository, and in the log.
func (w *World) branch(ctx context.Context, name string, at object.ID) error {
	ref := vcs.BranchOf(name)
	old, _ := w.Repo.Ref(ref)
	if old == at {
		return nil
	}
	return w.Repo.Apply(ctx, vcs.Owner(), nil, vcs.Move{Ref: ref, Old: old, New: at})
}

// place is a box with the snapshot below it, and its agent's way to the team's tables.
type place struct {
	*sandbox.Box
	tables board.Gateway // nil: a judge has none
	undo   []func() error
}

func (p *place) close() error {
	var err error
	for i := len(p.undo) - 1; i >= 0; i-- {
		err = errors.Join(err, p.undo[i]())
	}
	return err
}

// open builds the box of a thread: with what the agent left in it, or for who changes
// nothing a new one on main as it is now.
func (w *World) open(ctx context.Context, t thread, a swarm.Assignment) (p place, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	spec := sandbox.Spec{
		Name: t.born.Name + "-" + t.born.Thread, Dir: w.boxDir(t.born.Name, t.born.Thread),
		Mounts: w.Mounts, Env: w.Env, Limits: w.Limits,
	}
	at := t.base
	if a.Role == swarm.RoleLead || a.Role == swarm.RolePlanner {
		if at, err = w.main(); err != nil {
			return p, err
		}
		if err := os.RemoveAll(spec.Dir); err != nil {
			return p, err
		}
	}
	tree, err := w.Repo.TreeAt(ctx, at)
	if err != nil {
		return p, err
	}
	below, err := w.Trees.Get(ctx, w.Repo, tree)
	if err != nil {
		return p, err
	}
	p.undo = append(p.undo, func() error { below.Release(); return nil })
	spec.Lower = below.Dir
	if err := os.MkdirAll(spec.Dir, 0o711); err != nil {
		return p, err
	}
	if p.tables, err = w.tables(ctx, a); err != nil {
		return p, err
	}
	if w.connected(a.Role) {
		disconnect, err := w.connect(a, p.tables, &spec)
		if err != nil {
			return p, err
		}
		p.undo = append(p.undo, disconnect)
	}
	if p.Box, err = w.Host.Start(ctx, spec); err != nil {
		return p, err
	}
	p.undo = append(p.undo, p.Box.Close)
	return p, nil
}
