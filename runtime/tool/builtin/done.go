package builtin

import (
	"context"
	_ "embed"
	"strings"

	"dure/runtime/tool"
)

//go:embed done.md
var doneText string

// Done is how an agent says that it is finished.
type Done struct{}

// Spec implements tool.Tool.
func (Done) Spec() tool.Spec {
	return tool.Spec{Name: "done", Description: strings.TrimSpace(doneText), Fields: []tool.Field{
		{Name: "summary", Description: "what you did", Required: true}}}
}

// Run implements tool.Tool.
func (d Done) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	args, err := d.Spec().Parse(call.Arguments)
	if err != nil {
		return tool.Result{Outcome: tool.Invalid, Output: err.Error()}, nil
	}
	return tool.Result{Outcome: tool.Done, Output: args["summary"]}, nil
}
