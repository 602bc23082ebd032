package builtin

import (
	"context"
	_ "embed"
	"strings"

	"dure/runtime/tool"
)

//go:embed ask_human.md
var askHumanText string

// An Asker puts questions to the person who owns the run.
type Asker interface {
	// Ask puts a question and returns at once: with the answer, if the person gave one
	// to this question before. A later answer reaches the agent as a message.
	Ask(ctx context.Context, key, question string) (answer string, ok bool, err error)
}

// AskHuman asks the person.
type AskHuman struct{ Person Asker }

// Spec implements tool.Tool.
func (AskHuman) Spec() tool.Spec {
	return tool.Spec{Name: "ask_human", Description: strings.TrimSpace(askHumanText), Again: true, Fields: []tool.Field{
		{Name: "question", Description: "the question, with the choices and what you would choose", Required: true, Also: []string{"text", "message"}}}}
}

// Run implements tool.Tool.
func (t AskHuman) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	question, err := said(args, "question", 8<<10)
	if err != nil {
		return invalid("%v", err), nil
	}
	answer, ok, err := t.Person.Ask(ctx, key(call), question)
	r := done("the question was put. The answer comes as a message, perhaps much later: go on with what does not depend on it")
	if ok {
		r = done("the person answered: %s", answer)
	}
	return answered(call, r, err)
}
