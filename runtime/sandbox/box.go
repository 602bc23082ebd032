package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"dure/runtime/sandbox/cell"
)

// Box is one sandbox. One goroutine owns its state; Run and Close ask it.
type Box struct {
	host  *Host
	spec  Spec
	plan  cell.Plan
	env   []string
	calls chan any
	done  chan struct{} // closed when nothing of the box is left
}

// Start builds a box. It returns when all walls stand, or with an error and nothing
// left.
func (h *Host) Start(ctx context.Context, s Spec) (*Box, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	s.Limits = s.Limits.orDefault()
	k := &keeper{host: h, spec: s, uid: h.owner.uid, jobs: map[int]*running{},
		held: newAllowance(usage{s.Limits.Disk, s.Limits.Files})}
	if err := k.takeUser(); err != nil {
		return nil, err
	}
	if err := k.spawn(ctx); err != nil {
		return nil, fmt.Errorf("start sandbox %s: %w", s.Name, errors.Join(err, k.giveBack()))
	}
	b := &Box{host: h, spec: s, plan: k.plan, env: baseEnv(&k.plan), calls: make(chan any), done: make(chan struct{})}
	b.env = append(b.env, s.Env...)
	go k.keep(b)
	return b, nil
}

// Workspace is the path of the workspace as commands see it.
func (b *Box) Workspace() string { return b.plan.Workspace.Inside }

// Changes is the folder of the machine that holds what the agent changed: with whole
// false the upper layer of an overlay over Spec.Lower (a character device 0:0 is a
// removed file, the attribute user.overlay.opaque a replaced folder), with whole true
// the whole tree. It is empty for a volatile box. What lies there is the agent's: it
// may be any kind of file, change at any time, and links lead anywhere.
func (b *Box) Changes() (dir string, whole bool) {
	switch {
	case b.spec.Volatile > 0:
		return "", false
	case b.plan.Workspace.Plain != "":
		return filepath.Join(b.spec.Dir, "tree"), true
	}
	return filepath.Join(b.spec.Dir, "upper"), false
}

// Done is closed when the box is gone, by Close or by itself.
func (b *Box) Done() <-chan struct{} { return b.done }

// Close ends all commands and takes the box down. What the agent changed stays in
// Spec.Dir. Closing twice is no error.
func (b *Box) Close() error {
	reply := make(chan error, 1)
	select {
	case b.calls <- closeCall{reply}:
		return <-reply
	case <-b.done:
		return nil
	}
}

// spawn starts the helper and sees it build. After an error the caller gives back.
func (k *keeper) spawn(ctx context.Context) error {
	h := k.host
	p, err := h.plan(k.spec, k.uid)
	if err != nil {
		return err
	}
	defer p.close()
	if k.group, err = h.fence.make(k.spec.Name, k.spec.Limits); err != nil {
		return err
	}
	ours, theirs, err := pair()
	if err != nil {
		return err
	}
	k.helper = exec.Command(h.opt.Helper[0], h.opt.Helper[1:]...)
	k.helper.Env = helperEnv
	k.helper.ExtraFiles = []*os.File{theirs}
	k.helper.SysProcAttr = h.owner.sysProcAttr(h.report.Rung, k.uid)
	err = k.group.start(k.helper)
	_ = theirs.Close() // the helper has its own
	if err != nil {
		k.helper = nil
		_ = ours.Close()
		return fmt.Errorf("start the helper: %w", err)
	}
	if k.line, err = newLine(ours); err != nil {
		return err
	}
	if err := k.line.send(p.Plan, p.files...); err != nil {
		return err
	}
	k.plan = p.Plan
	return k.ready(ctx)
}

// ready waits until the walls stand.
func (k *keeper) ready(ctx context.Context) error {
	if err := k.line.conn.SetReadDeadline(time.Now().Add(spawnTimeout)); err != nil {
		return fmt.Errorf("wait for the helper: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = k.line.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	n, err := k.line.receive(make([]byte, cell.MaxMessage))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the helper built nothing within %s", spawnTimeout)
	case err != nil:
		return fmt.Errorf("the helper ended before its walls stood: %w", err)
	case n.Failed != "":
		return errors.New(n.Failed)
	case n.Ready == nil:
		return errors.New("the helper said something else than that it is ready")
	}
	return k.line.conn.SetReadDeadline(time.Time{})
}

// takeUser takes a free user, where boxes are kept apart by one.
func (k *keeper) takeUser() error {
	if k.host.users == nil {
		return nil
	}
	select {
	case k.uid = <-k.host.users:
		return nil
	default:
		return fmt.Errorf("start sandbox %s: all %d users for sandboxes are taken", k.spec.Name, users)
	}
}

// giveBack ends the helper and frees what it had.
func (k *keeper) giveBack() error {
	if k.line.conn != nil {
		_ = k.line.conn.Close() // the helper ends all and then itself
	}
	if k.helper != nil {
		if k.host.report.Rung == Full {
			_ = k.helper.Process.Kill() // and the kernel all that is in its namespace
		}
		_ = k.helper.Wait() // its exit code says no more than its last notice did
	}
	swept := k.sweepUser()
	if k.host.users != nil {
		k.host.users <- k.uid
	}
	return errors.Join(swept, k.group.remove())
}

// sweepUser ends what is left of the box's own user. A command can end its helper on
// rung Reduced, by the number of one of its threads, and would outlive it.
func (k *keeper) sweepUser() error {
	if k.host.report.Rung != Reduced || k.uid == 0 {
		return nil
	}
	ours, theirs, err := pair()
	if err != nil {
		return err
	}
	cmd := exec.Command(k.host.opt.Helper[0], k.host.opt.Helper[1:]...)
	cmd.Env = helperEnv
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = k.host.owner.sysProcAttr(Reduced, k.uid)
	err = cmd.Start()
	_ = theirs.Close() // the helper has its own
	if err != nil {
		return fmt.Errorf("end the processes of user %d: %w", k.uid, err)
	}
	l, err := newLine(ours)
	if err == nil {
		err = l.send(cell.Plan{Mode: cell.End})
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("end the processes of user %d: %w", k.uid, err)
	}
	return l.conn.Close()
}
