package world

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dure/inference"
	"dure/runtime/agent"
	"dure/runtime/swarm"
	"dure/runtime/tool/builtin"
)

// Work implements swarm.World.
func (w *World) Work(ctx context.Context, a swarm.Assignment) (swarm.Report, error) {
	r, err := w.work(ctx, a)
	if err != nil {
		return r, known(fmt.Errorf("%s on %s: %w", a.Agent, a.Task, err))
	}
	return r, nil
}

func (w *World) work(ctx context.Context, a swarm.Assignment) (r swarm.Report, err error) {
	if err := w.block(ctx, a); err != nil {
		return r, err
	}
	t, err := w.thread(ctx, a)
	if err != nil {
		return r, err
	}
	p, err := w.open(ctx, t, a)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	end, err := w.live(ctx, t, p, a)
	if err != nil {
		return r, err
	}
	r = report(a, end)
	if !commits(a.Role) {
		return r, nil
	}
	c, err := w.commitWhenFree(ctx, p.Box, a.Agent, t.base, message(a, r))
	switch {
	case unfit(err):
		// The agent has to change what it did; it hears of it as of a failing check.
		r.Commit, r.GaveUp = c.Commit.String(), "its work cannot be committed: "+err.Error()
		return r, nil
	case err != nil:
		return r, err
	}
	r.Commit = c.Commit.String()
	if left := unsaid(end.Outcome); left != "" && c.Commit != t.base {
		// Work is not thrown away because nobody called it done: the check decides.
		r.GaveUp, r.Summary = "", strings.TrimSpace(r.Summary+"\n"+left+" What it had changed was committed.")
	}
	if len(c.LeftOut) > 0 {
		r.Summary += "\nLeft out of the commit:\n" + strings.Join(c.LeftOut, "\n")
	}
	return r, nil
}

// patience is for a verdict of the rules.
const patience = 10 * time.Second

// report is an agent's end as the run knows it.
func report(a swarm.Assignment, end agent.Ended) swarm.Report {
	var r swarm.Report
	r.Summary, r.Plan = builtin.SplitDone(end.Text)
	if r.Plan == "" && a.Role == swarm.RoleLead {
		r.Plan = r.Summary
	}
	switch left := unsaid(end.Outcome); {
	case end.Outcome == agent.Done:
	case left != "":
		r.GaveUp = left
	default:
		r.GaveUp = "it was " + string(end.Outcome)
	}
	return r
}

// unsaid is how an agent ended by itself that never said that it is done; empty: it
// ended otherwise.
func unsaid(o agent.Outcome) string {
	switch o {
	case agent.Silent:
		return "It stopped calling tools."
	case agent.TooLong:
		return "It had as many turns as it may have."
	}
	return ""
}

// message of a commit.
func message(a swarm.Assignment, r swarm.Report) string {
	return strings.ToValidUTF8(strings.ReplaceAll(fmt.Sprintf("%s: %s\n\n%s\n", a.Task, a.Title, r.Summary), "\x00", ""), "?")
}

// live has the agent of a thread go on to the end of its round.
func (w *World) live(ctx context.Context, t thread, p place, a swarm.Assignment) (agent.Ended, error) {
	extra, stop, err := w.extra(ctx, p, a.Role)
	if err != nil {
		return agent.Ended{}, err
	}
	defer stop()
	guard, err := w.guard(&desk{w, t, p, a}, extra)
	if err != nil {
		return agent.Ended{}, err
	}
	ag := &agent.Agent{
		Born:  t.born,
		Model: w.Gate.Model(w.Model(a.Role)), Window: w.Window(a.Role),
		Took: func(ctx context.Context, turn int) {
			w.pulse(ctx, a.Agent, turn)
			w.space.wait(ctx)
		},
		Guard: guard, Log: w.Log, Inbox: &inbox{log: w.Log, last: t.born.Mail, tables: p.tables},
		Params: w.Params(a.Role), Choice: w.Choice, Priority: priority(a.Role), MaxTurns: w.MaxTurns, Wait: sleep,
		Again: agent.Again{Round: a.Epoch - t.first, Text: again(a)},
	}
	return ag.Run(ctx)
}

func priority(r swarm.Role) inference.Priority {
	switch r {
	case swarm.RoleLead, swarm.RolePlanner:
		return inference.PriorityPlanner
	case swarm.RoleMerger, swarm.RoleJudge:
		return inference.PriorityMerge
	}
	return inference.PriorityWorker
}

// pulse tells the run of each turn that an agent takes. That it cannot be told, since
// the run ends, is no failure of the turn.
func (w *World) pulse(ctx context.Context, name string, turns int) {
	if err := w.run.Turned(ctx, name, turns); err != nil && ctx.Err() == nil && !errors.Is(err, swarm.ErrNotRunning) {
		w.Logger.Warn("a turn was not counted", "agent", name, "error", err)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
