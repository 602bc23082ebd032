package builtin

import (
	"context"
	_ "embed"
	"strings"

	"dure/runtime/tool"
)

//go:embed done.md
var doneText string

//go:embed done_plan.md
var donePlanText string

// Done is how an agent says that it is finished. Its output is what it said of its
// work; SplitDone takes a plan off it.
type Done struct {
	// Plans: the agent made a plan, and can hand it over.
	Plans bool
}

// planBegins stands between what an agent says and its plan.
const planBegins = "\n\n---- plan ----\n"

// Spec implements tool.Tool.
func (d Done) Spec() tool.Spec {
	s := tool.Spec{Name: "done", Description: strings.TrimSpace(doneText), Again: true, Fields: []tool.Field{
		{Name: "summary", Description: "what you did, in a few sentences", Required: true, Also: []string{"text", "message", "result"}}}}
	if d.Plans {
		s.Description = strings.TrimSpace(donePlanText)
		s.Fields[0].Description = "what you decided, or what has come of it, in a few sentences"
		s.Fields = append(s.Fields, tool.Field{Name: "plan", Description: "the plan document, in Markdown, if there is a new one", Also: []string{"document"}})
	}
	return s
}

// Run implements tool.Tool.
func (d Done) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	args, err := d.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	summary, err := said(args, "summary", 16<<10)
	if err != nil {
		return invalid("%v", err), nil
	}
	plan := strings.TrimSpace(args["plan"])
	switch {
	case len(plan) > 128<<10:
		return invalid("plan has %d bytes; %d at most: make it shorter", len(plan), 128<<10), nil
	case strings.Contains(summary, strings.TrimSpace(planBegins)):
		return invalid("summary has the line %q in it; put the plan into plan", strings.TrimSpace(planBegins)), nil
	case plan != "":
		summary += planBegins + plan
	}
	return done("%s", summary), nil
}

// SplitDone is what an agent said with done, and the plan that it handed over.
func SplitDone(output string) (summary, plan string) {
	summary, plan, _ = strings.Cut(output, planBegins)
	return summary, plan
}
