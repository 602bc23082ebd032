package builtin

import (
	"context"
	_ "embed"
	"strings"

	"dure/runtime/tool"
)

//go:embed report_file.md
var reportFileText string

// A Reporter hears of files that are in the way of many.
type Reporter interface {
	ReportFile(ctx context.Context, key, path, why string) error
}

// ReportFile is how an agent says that a file ought to be split.
type ReportFile struct{ To Reporter }

// Spec implements tool.Tool.
func (ReportFile) Spec() tool.Spec {
	return tool.Spec{Name: "report_file", Description: strings.TrimSpace(reportFileText), Again: true, Fields: []tool.Field{
		pathField("the file, from the workspace"),
		{Name: "why", Description: "what is wrong with it, and how it could be split", Required: true, Also: []string{"reason", "text"}},
	}}
}

// Run implements tool.Tool.
func (t ReportFile) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	f, err := named(args["path"])
	if err != nil {
		return invalid("%v", err), nil
	}
	why, err := said(args, "why", 4<<10)
	if err != nil {
		return invalid("%v", err), nil
	}
	return answered(call, done("reported %s; go on with your task", f.shown), t.To.ReportFile(ctx, key(call), f.shown, why))
}
