package builtin

import (
	"context"
	_ "embed"
	"strings"

	"dure/runtime/tool"
)

//go:embed verdict.md
var verdictText string

// An Opinion is what a judge says of somebody's work.
type Opinion struct {
	Passed   bool
	Citation string
	Reason   string
}

// A Bench is where a judge sits: over one report.
type Bench interface {
	// CheckOutput is all that the check printed when the harness ran it, with a line of
	// how it ended at the end.
	CheckOutput(ctx context.Context) (string, error)
	Decide(ctx context.Context, key string, o Opinion) error
}

// Verdict is how a judge decides.
type Verdict struct{ On Bench }

// minCitation bytes say something, if they are not a whole line.
const minCitation = 12

// Spec implements tool.Tool.
func (Verdict) Spec() tool.Spec {
	return tool.Spec{Name: "verdict", Description: strings.TrimSpace(verdictText), Again: true, Fields: []tool.Field{
		{Name: "passed", Description: "yes: the task is done; no: it is not", Required: true, Enum: []string{"yes", "no"}, Also: []string{"verdict", "pass"}},
		{Name: "citation", Description: "a line of the check's output, word for word, on which the verdict rests", Required: true, Also: []string{"cite", "cites", "quote", "evidence"}},
		{Name: "reason", Description: "why, for the agent whose work it is: what is missing, and where", Required: true, Also: []string{"text", "why", "explanation"}},
	}}
}

// Run implements tool.Tool.
func (t Verdict) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	o := Opinion{Passed: args["passed"] == "yes"}
	if o.Citation, err = said(args, "citation", 4<<10); err != nil {
		return invalid("%v", err), nil
	}
	if o.Reason, err = said(args, "reason", 8<<10); err != nil {
		return invalid("%v", err), nil
	}
	output, err := t.On.CheckOutput(ctx)
	if err != nil {
		return answered(call, tool.Result{}, err)
	}
	if !cited(output, o.Citation) {
		return failed("no verdict: the citation is not in the check's output. Copy a line of it, word for word; its last lines are:\n%s", lastLines(output, 10)), nil
	}
	return answered(call, done("the verdict is given"), t.On.Decide(ctx, key(call), o))
}

// cited says whether a text stands in another: spaces and line breaks count as one
// space each, since models copy lines and not their breaks. A few letters that stand
// in every text cite nothing, unless they are a whole line.
func cited(output, citation string) bool {
	citation = squeezed(citation)
	if len(citation) >= minCitation {
		return strings.Contains(squeezed(output), citation)
	}
	for line := range strings.Lines(output) {
		if citation != "" && squeezed(line) == citation {
			return true
		}
	}
	return false
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// lastLines are the last of a text, each cut to a length that can be read.
func lastLines(text string, n int) string {
	lines := splitLines(strings.TrimRight(text, "\n"))
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		if line = strings.TrimSuffix(line, "\n"); len(line) > maxWidth {
			line = string(wholeRunes([]byte(line[:maxWidth]))) + "..."
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
