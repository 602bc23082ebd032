package builtin

import (
	"context"
	_ "embed"
	"strings"

	"dure/runtime/tool"
)

//go:embed spawn.md
var spawnText string

// A Subtask is what a planner wants to be done.
type Subtask struct {
	Title string
	Text  string
	Check string // the command that must succeed when it is done
	// After are tasks that must be done first; Assumes those that are taken for done
	// meanwhile.
	After, Assumes []string
	Crew           string // empty: the planner's own
	Kind           string // SubtaskWork or SubtaskPlan
}

// Kinds of subtasks.
const (
	SubtaskWork = "work"
	SubtaskPlan = "plan"
)

// A Spawner takes tasks in.
type Spawner interface {
	// Spawn puts a task below the planner's own and returns at once: its ID, and its
	// place among those that wait for an agent, from 1; 0 if it waits for something
	// else first.
	Spawn(ctx context.Context, key string, t Subtask) (id string, place int, err error)
}

// Spawn makes a task.
type Spawn struct{ In Spawner }

// Spec implements tool.Tool.
func (Spawn) Spec() tool.Spec {
	return tool.Spec{Name: "spawn", Description: strings.TrimSpace(spawnText), Again: true, Fields: []tool.Field{
		{Name: "title", Description: "what is to be done, in one line", Required: true, Also: []string{"name"}},
		{Name: "text", Description: "all that its agent has to know: it sees nothing of what you know", Required: true, Also: []string{"description", "task", "prompt", "body"}},
		{Name: "check", Description: "a shell command that succeeds when the task is done and fails before, as go test ./parser", Required: true, Also: []string{"check_command", "command", "test"}},
		{Name: "after", Description: "the IDs of tasks that must be done first, as t3, t5", Many: true, Also: []string{"depends_on", "dependencies"}},
		{Name: "assumes", Description: "the IDs of tasks whose result it may take for granted before they are done", Many: true},
		{Name: "crew", Description: "the crew that does it; yours if left out"},
		{Name: "kind", Description: "work: one agent does it; plan: it is large, and another planner splits it again. work if left out", Enum: []string{SubtaskWork, SubtaskPlan}},
	}}
}

// Run implements tool.Tool.
func (t Spawn) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	s := Subtask{Kind: args["kind"], After: names(args["after"]), Assumes: names(args["assumes"]), Crew: strings.TrimSpace(args["crew"])}
	if s.Kind == "" {
		s.Kind = SubtaskWork
	}
	for _, f := range []struct {
		name string
		most int
		to   *string
	}{{"title", 200, &s.Title}, {"text", 64 << 10, &s.Text}, {"check", 4 << 10, &s.Check}} {
		if *f.to, err = said(args, f.name, f.most); err != nil {
			return invalid("%v", err), nil
		}
	}
	if strings.ContainsAny(s.Title, "\r\n") {
		return invalid("title has more than one line; put the rest into text"), nil
	}
	id, place, err := t.In.Spawn(ctx, key(call), s)
	r := done("%s is in the queue, at place %d. You are told when it has ended: do not wait for it", id, place)
	if place == 0 {
		r = done("%s waits until it can start. You are told when it has ended: do not wait for it", id)
	}
	return answered(call, r, err)
}

// names are the names in a list with commas or spaces between.
func names(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", ;\t\r\n[]\"'", r) })
}
