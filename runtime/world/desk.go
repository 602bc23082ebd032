package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"dure/runtime/agent"
	"dure/runtime/swarm"
	"dure/runtime/tool"
	"dure/runtime/tool/builtin"
	"dure/runtime/vcs/land"
)

// desk is what an agent's tools reach outside of its box. Who asks is known by the
// desk, never said.
type desk struct {
	w *World
	t thread
	p place
	a swarm.Assignment
}

// Commit implements builtin.Committer.
func (d *desk) Commit(ctx context.Context, _, message string) (id string, files int, err error) {
	c, err := d.w.commit(ctx, d.p.Box, d.a.Agent, d.t.base, message)
	if unfit(err) {
		return "", 0, builtin.Refuse("nothing is committed: %v", err)
	}
	return c.Commit.String(), c.Changed, err
}

// Send implements builtin.Messenger.
func (d *desk) Send(ctx context.Context, key, to, text string) error {
	known := false
	err := d.w.run.Inspect(ctx, func(s *swarm.State) {
		other, found := s.Agent(to)
		known = found && other.Gone == ""
	})
	switch {
	case err != nil:
		return err
	case to == d.a.Agent:
		return builtin.Refuse("that is you")
	case !known:
		return builtin.Refuse("there is no agent %s in the team", to)
	}
	return d.w.post(ctx, to, agent.Told{From: d.a.Agent, Relation: agent.Team, Text: text, Ref: key})
}

// ReportFile implements builtin.Reporter.
func (d *desk) ReportFile(ctx context.Context, _, path, why string) error {
	return d.w.Lander.Report(ctx, land.FileReport{Path: path, Agent: d.a.Agent, Why: why})
}

// Spawn implements builtin.Spawner.
func (d *desk) Spawn(ctx context.Context, key string, t builtin.Subtask) (id string, position int, err error) {
	s, err := d.w.run.Spawn(ctx, swarm.Spawn{
		By: d.a.Agent, Ref: key, Kind: swarm.Kind(t.Kind), Title: t.Title, Text: t.Text, Check: t.Check,
		After: tasks(t.After), Assumes: tasks(t.Assumes), Crew: t.Crew, Goal: t.Title,
	})
	return string(s.Task), s.Position, refused(err)
}

func tasks(names []string) []swarm.TaskID {
	var out []swarm.TaskID
	for _, n := range names {
		out = append(out, swarm.TaskID(strings.ToLower(n)))
	}
	return out
}

// refused makes a request that was not granted what its agent is told.
func refused(err error) error {
	if errors.Is(err, swarm.ErrRefused) {
		return builtin.Refuse("%v", err)
	}
	return err
}

// Estimate implements builtin.Estimator.
func (d *desk) Estimate(ctx context.Context, task string, tokens int64, feasible bool, reason string) error {
	id, by := swarm.TaskID(task), d.a.Agent
	var parked, known bool
	err := d.w.run.Inspect(ctx, func(s *swarm.State) {
		t, found := s.Task(id)
		known, parked = found && s.MayChange(by, id), t.Parked != ""
	})
	switch {
	case err != nil:
		return err
	case !known:
		return builtin.Refuse("%s is no task of yours", task)
	}
	if err := d.w.run.Estimate(ctx, by, id, tokens, feasible, reason); err != nil {
		return refused(err)
	}
	switch {
	case feasible && parked:
		err = d.w.run.Reopen(ctx, by, id, reason)
	case !feasible && !parked:
		err = d.w.run.Park(ctx, by, id, reason)
	}
	return refused(err)
}

// Ask implements builtin.Asker.
func (d *desk) Ask(ctx context.Context, key, question string) (answer string, ok bool, err error) {
	id, err := d.w.run.Ask(ctx, d.a.Agent, key, question, nil)
	if err != nil {
		return "", false, refused(err)
	}
	err = d.w.run.Inspect(ctx, func(s *swarm.State) {
		for _, q := range s.Questions() {
			if q.Question == id && q.Answer != nil {
				answer, ok = q.Answer.Text, true
			}
		}
	})
	return answer, ok, err
}

// guard puts what every call goes through in front of a role's tools.
func (w *World) guard(d *desk, extra []tool.Tool) (*tool.Guard, error) {
	tools, err := builtin.ForRole(string(d.a.Role), builtin.World{
		Box: d.p.Box, Commits: d, Reports: d, Board: d.p.tables, Messages: d, Tasks: d, Costs: d, Person: d, Bench: bench{d}, Connected: w.connected(d.a.Role), ShellTime: w.ToolTime,
	})
	if err != nil {
		return nil, err
	}
	if commits(d.a.Role) {
		last := len(tools) - 1
		tools = append(append(tools[:last:last], extra...), done{tools[last], d})
	}
	return &tool.Guard{Tools: tools, Judge: w.Rules, Patience: cmp.Or(w.Patience, patience), Gate: w.Gate, Log: w.Log, Now: w.Now}, nil
}

// done ends a round of an agent whose box becomes a commit: it is committed first, so
// that what cannot be is said while the agent can change it.
type done struct {
	tool.Tool
	d *desk
}

// Run implements tool.Tool.
func (t done) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	r, err := t.Tool.Run(ctx, call)
	if err != nil || r.Outcome != tool.Done {
		return r, err
	}
	c, err := t.d.w.commitWhenFree(ctx, t.d.p.Box, t.d.a.Agent, t.d.t.base, message(t.d.a, swarm.Report{Summary: r.Output}))
	switch {
	case unfit(err):
		text := fmt.Sprintf("not done: your files cannot be committed: %v", err)
		return tool.Result{Outcome: tool.Failed, Output: text, Bytes: int64(len(text))}, nil
	case err != nil:
		return tool.Result{}, err
	}
	if len(c.LeftOut) > 0 {
		r.Output += "\n[left out of the commit: " + strings.Join(c.LeftOut, "; ") + "]"
		r.Bytes = int64(len(r.Output))
	}
	return r, nil
}

// bench is where a judge sits.
type bench struct{ d *desk }

// CheckOutput implements builtin.Bench.
func (b bench) CheckOutput(context.Context) (string, error) { return output(b.d.a.Check.Output), nil }

// Decide implements builtin.Bench. The verdict is in the log as the call's arguments,
// from where Judge takes it when the judge has ended.
func (bench) Decide(context.Context, string, builtin.Opinion) error { return nil }
