package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"dure/runtime/control"
	"dure/runtime/swarm"
)

// A draft is a run that goes no further than its plan: it is begun with a person's approval
// asked for, so that no worker can start, and stopped as soon as the plan is there.

// draft has the lead make its plan.
func (o *swarmPlan) draft(ctx context.Context, p *planned, out, log io.Writer) (err error) {
	if o.run.repo == "" || o.run.check == "" {
		return errNoRepo
	}
	if err := o.place(); err != nil {
		return err
	}
	kept := o.dir != ""
	if !kept {
		defer func() { err = errors.Join(err, os.RemoveAll(o.run.folder)) }()
	}
	o.run.approval, o.run.limits.Agents, o.run.shellTime = true, 1, o.run.checkTime
	if err := o.run.sound(); err != nil {
		return err
	}
	t, err := openTeam(ctx, &o.run, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if !o.asJSON {
		fmt.Fprintln(out, "\nThe lead drafts its plan:")
	}
	quiet := out
	if o.asJSON {
		quiet = io.Discard
	}
	if err := o.untilPlan(ctx, t, quiet); err != nil {
		return err
	}
	s, err := swarm.Load(context.WithoutCancel(ctx), t.log)
	if err != nil {
		return err
	}
	if s.Draft() == nil {
		return noDraft(s)
	}
	v := control.Look(s)
	p.Plan = &v
	for _, q := range v.Questions {
		p.Asked = append(p.Asked, q.Text)
	}
	if o.asJSON {
		return nil
	}
	fmt.Fprint(out, visible(draftText(v)))
	if kept {
		fmt.Fprintf(out, "\nIt is kept: dure swarm run --dir %s goes on with it, dure swarm approve lets the workers start.\n", o.dir)
	}
	return nil
}

// place chooses the draft's folder.
func (o *swarmPlan) place() (err error) {
	if o.dir == "" {
		o.run.folder, err = scratchDir("draft-")
		return err
	}
	if o.run.folder, err = namedDir(o.dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(o.run.folder, teamLog)); err == nil {
		return fmt.Errorf("there is a run in %s already: name another folder with --dir", o.run.folder)
	}
	return nil
}

// untilPlan runs the run until there is a plan, or a person is needed.
func (o *swarmPlan) untilPlan(ctx context.Context, t *swarmTeam, out io.Writer) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := t.run(running, out)
		ended <- err
	}()
	for e, err := range t.log.Follow(running, swarm.Stream, 0) {
		if err != nil {
			break
		}
		payload, err := swarm.Registry.Decode(e)
		if err != nil {
			stop()
			return errors.Join(err, <-ended)
		}
		if enough(payload) {
			break
		}
	}
	stop()
	err := <-ended
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil // it was stopped here
	}
	return err
}

// enough says whether an event ends a draft: the plan, or what goes on with a person only.
func enough(payload any) bool {
	switch p := payload.(type) {
	case swarm.Drafted, swarm.Finished:
		return true
	case swarm.Asked:
		return p.Agent == "" || p.Holds
	}
	return false
}

func noDraft(s *swarm.State) error {
	for _, q := range s.Questions() {
		if q.Answer == nil {
			return fmt.Errorf("there is no plan, and the run needs you: %s", visible(clipped(strings.Join(strings.Fields(q.Text), " "), 600)))
		}
	}
	if f := s.Finished(); f != nil {
		return fmt.Errorf("there is no plan: the run finished first (%s %s)", f.Finish, f.Reason)
	}
	return errors.New("there is no plan")
}

// draftText is the plan with the tasks that were made for it.
func draftText(v control.View) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "\nThe draft of a plan, with %s:\n%s\n\n", howMany(max(0, len(v.Tasks)-1), "task"), indented(v.Plan))
	for _, t := range v.Tasks {
		if t.Parent == "" {
			continue
		}
		after := ""
		if len(t.After) > 0 {
			names := make([]string, len(t.After))
			for i, id := range t.After {
				names[i] = string(id)
			}
			after = ", after " + strings.Join(names, ", ")
		}
		fmt.Fprintf(w, "  %s%-5s %s (%s%s)\n        %scheck: %s\n", strings.Repeat("  ", t.Depth-1), t.Task, t.Title, t.Kind, after, strings.Repeat("  ", t.Depth-1), t.Check)
	}
	for _, q := range v.Questions {
		fmt.Fprintf(w, "\n%s asks: %s\n", asker(q), q.Text)
	}
	return w.String()
}
