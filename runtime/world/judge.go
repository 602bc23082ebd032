package world

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dure/runtime/agent"
	"dure/runtime/swarm"
	"dure/runtime/tool"
	"dure/runtime/tool/builtin"
)

// Judge implements swarm.World.
func (w *World) Judge(ctx context.Context, a swarm.Assignment) (swarm.Verdict, error) {
	v, err := w.judge(ctx, a)
	if err != nil {
		return v, known(fmt.Errorf("%s judges %s: %w", a.Agent, a.Task, err))
	}
	return v, nil
}

func (w *World) judge(ctx context.Context, a swarm.Assignment) (v swarm.Verdict, err error) {
	a.Fresh = true // a judge has seen nothing before
	t, err := w.thread(ctx, a)
	if err != nil {
		return v, err
	}
	p, err := w.open(ctx, t, a)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	end, err := w.live(ctx, t, p, a)
	if err != nil {
		return v, err
	}
	if end.Outcome != agent.Done {
		return swarm.Verdict{GaveUp: "the judge ended without a verdict: " + string(end.Outcome)}, nil
	}
	return w.verdict(ctx, t)
}

// verdict is what a judge's last call of that name said, as the log has it: a citation
// that does not stand in the check's output made the call fail.
func (w *World) verdict(ctx context.Context, t thread) (v swarm.Verdict, err error) {
	spec := builtin.Verdict{}.Spec()
	calls := map[string]tool.Arguments{}
	for e, err := range w.Log.Read(ctx, tool.Stream(t.born.Name), 0) {
		if err != nil {
			return v, err
		}
		switch e.Type {
		case tool.Events.Judged.Name():
			j, err := tool.Events.Judged.Decode(e)
			if err != nil {
				return v, err
			}
			if args, err := spec.Parse(string(j.Arguments)); err == nil && j.Tool == spec.Name && strings.HasPrefix(j.Call, t.born.Thread+"_") {
				calls[j.Call] = args
			}
		case tool.Events.Ended.Name():
			end, err := tool.Events.Ended.Decode(e)
			if err != nil {
				return v, err
			}
			if args, ok := calls[end.Call]; ok && end.Outcome == tool.Done {
				v = swarm.Verdict{Passed: args["passed"] == "yes", Text: args["reason"], Cites: args["citation"]}
			}
		}
	}
	if v.Cites == "" {
		return v, errors.New("the verdict is not in the log")
	}
	return v, nil
}
