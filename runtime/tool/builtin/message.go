package builtin

import (
	"context"
	_ "embed"
	"strings"

	"dure/runtime/tool"
)

//go:embed message.md
var messageText string

// A Messenger carries words from one agent to another, who reads them before its next
// turn. Who speaks is known to it, and not said by the agent.
type Messenger interface {
	Send(ctx context.Context, key, to, text string) error
}

// Message says something to another agent.
type Message struct{ By Messenger }

// Spec implements tool.Tool.
func (Message) Spec() tool.Spec {
	return tool.Spec{Name: "message", Description: strings.TrimSpace(messageText), Again: true, Fields: []tool.Field{
		{Name: "to", Description: "the name of the agent, as noether", Required: true, Also: []string{"agent", "recipient", "name"}},
		{Name: "text", Description: "what you have to say", Required: true, Also: []string{"message", "body", "content"}},
	}}
}

// Run implements tool.Tool.
func (t Message) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	to, err := said(args, "to", 64)
	if err != nil {
		return invalid("%v", err), nil
	}
	text, err := said(args, "text", 8<<10)
	if err != nil {
		return invalid("%v", err), nil
	}
	to = strings.ToLower(strings.TrimPrefix(to, "@"))
	return answered(call, done("sent; %s reads it before its next turn. Do not wait for an answer", to), t.By.Send(ctx, key(call), to, text))
}
