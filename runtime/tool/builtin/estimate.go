package builtin

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"dure/runtime/tool"
)

//go:embed estimate.md
var estimateText string

// An Estimator takes what a planner holds its tasks to cost.
type Estimator interface {
	// Estimate records it, and parks a task that is not feasible, or opens one that was
	// parked and is. Done again, it changes nothing more.
	Estimate(ctx context.Context, task string, tokens int64, feasible bool, reason string) error
}

// Estimate says what a task costs.
type Estimate struct{ Tasks Estimator }

// Spec implements tool.Tool.
func (Estimate) Spec() tool.Spec {
	return tool.Spec{Name: "estimate", Description: strings.TrimSpace(estimateText), Again: true, Fields: []tool.Field{
		{Name: "task", Description: "the ID of a task that you made, as t3", Required: true, Also: []string{"id", "task_id"}},
		{Name: "tokens", Description: "how many tokens it takes, as 200000", Required: true},
		{Name: "feasible", Description: "yes, or no to set it aside", Required: true, Enum: []string{"yes", "no"}},
		{Name: "reason", Description: "why", Required: true, Also: []string{"why"}},
	}}
}

// Run implements tool.Tool.
func (t Estimate) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	reason, err := said(args, "reason", 4<<10)
	if err != nil {
		return invalid("%v", err), nil
	}
	tokens, err := strconv.ParseInt(strings.NewReplacer(",", "", "_", "", " ", "").Replace(args["tokens"]), 10, 64)
	if err != nil || tokens < 0 {
		return invalid("tokens is %q; give a whole number, as 200000", args["tokens"]), nil
	}
	id, feasible := strings.ToLower(strings.TrimSpace(args["task"])), args["feasible"] == "yes"
	r := done("%s goes on", id)
	if !feasible {
		r = done("%s is set aside", id)
	}
	return answered(call, r, t.Tasks.Estimate(ctx, id, tokens, feasible, reason))
}
