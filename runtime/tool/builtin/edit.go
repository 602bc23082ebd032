package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"dure/runtime/tool"
)

//go:embed edit.md
var editText string

// Edit replaces one place of a file that the agent has read, and that nobody has
// changed since.
type Edit struct{ Box Box }

// Spec implements tool.Tool.
func (Edit) Spec() tool.Spec {
	return tool.Spec{Name: "edit", Description: strings.TrimSpace(editText), Fields: []tool.Field{
		pathField("the file, from the workspace, as src/main.go"),
		{Name: "old", Description: "the lines to replace, as they are in the file", Required: true, Also: []string{"old_string", "old_str", "old_text", "search", "find"}},
		{Name: "new", Description: "the lines to put there; empty to remove the old ones", Required: true, Also: []string{"new_string", "new_str", "new_text", "replace", "replacement"}},
	}}
}

// Run implements tool.Tool.
func (t Edit) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	f, err := named(args["path"])
	if err != nil {
		return invalid("%v", err), nil
	}
	r, err := t.edit(ctx, f, args["old"], args["new"])
	if err != nil {
		return tool.Result{}, fmt.Errorf("edit %s: %w", f.shown, err)
	}
	return r, nil
}

func (t Edit) edit(ctx context.Context, f file, old, fresh string) (tool.Result, error) {
	s, a, err := look(ctx, t.Box, f, false, 1, 1)
	switch {
	case err != nil:
		return tool.Result{}, err
	case a.status != 0:
		return a.failure("reading " + f.shown), nil
	case s.kind == "folder":
		return failed("%s is a folder; name a file", f.shown), nil
	case s.kind == "large":
		return failed("%s has %d bytes; edit takes %d at most: change it with a program in shell", f.shown, s.size, maxFile), nil
	case s.kind != "file":
		return nothing(ctx, t.Box, f, s)
	case s.read == "":
		return failed("not edited: you have not read %s; read it first, then take old from what you see", f.shown), nil
	case s.read != s.hash:
		return failed("not edited: %s has changed since you read it; read it again, then take old from what you see", f.shown), nil
	}
	if why := noText(s.body); why != "" {
		return failed("not edited: %s %s", f.shown, why), nil
	}
	text := string(s.body)
	r, err := replace(text, old, fresh)
	if err != nil {
		return failed("not edited: %v", err), nil
	}
	if len(r.text) > maxFile {
		return failed("not edited: %s would have %d bytes; %d at most", f.shown, len(r.text), maxFile), nil
	}
	word, a, err := put(ctx, t.Box, f, []byte(r.text), s.hash)
	switch {
	case err != nil:
		return tool.Result{}, err
	case a.status != 0:
		return a.failure("writing " + f.shown), nil
	case word != "changed":
		return notWritten(f, word), nil
	}
	how := ""
	if r.how != exactly {
		how = fmt.Sprintf("[old was found %s]\n", r.how)
	}
	return done("%s%s", how, diff(f.shown, text, r.text)), nil
}
