package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dure/runtime/tool"
)

// remote is a tool of a server.
type remote struct {
	server *Server
	spec   tool.Spec
	name   string // the server's own
}

// Spec implements tool.Tool.
func (t remote) Spec() tool.Spec { return t.spec }

// Run implements tool.Tool.
func (t remote) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	r, err := t.server.living(ctx)
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case err != nil:
		return tool.Result{Outcome: tool.Failed, Output: fmt.Sprintf("not carried out: tool server %s: %v", t.server.conf.Name, err)}, nil
	}
	answer, err := ask(ctx, r, func(ctx context.Context) (*sdk.CallToolResult, error) {
		return r.session.CallTool(ctx, &sdk.CallToolParams{Name: t.name, Arguments: json.RawMessage(call.Arguments)})
	})
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		t.server.stop(r)
		return tool.Result{}, ctx.Err()
	case err == nil:
		t.server.answered()
		return result(answer), nil
	case errors.As(err, &refused) && !r.over():
		t.server.answered()
		return tool.Result{Outcome: tool.Failed, Output: clip("the tool server refuses the call: "+refused.Message, maxOutput)}, nil
	}
	// A server that breaks the protocol is at its end, too. What it died of is known
	// when it is gone.
	r.end()
	return tool.Result{Outcome: tool.Interrupted, Output: fmt.Sprintf(
		"tool server %s ended while this was carried out; it may have happened in whole or in part: look before you do it again. %v",
		t.server.conf.Name, r.explain(err))}, nil
}
