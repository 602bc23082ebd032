package chat

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"

	"dure/inference"
	"dure/inference/chat/jinja"
)

// message is a message as templates know it: with the names that transformers
// passes on.
func (a Abilities) message(m *inference.Message) (jinja.Value, error) {
	d := jinja.NewDict()
	d.Set("role", m.Role)
	d.Set("content", m.Content)
	if m.Name != "" {
		d.Set("name", m.Name)
	}
	if m.Reasoning != "" {
		d.Set("reasoning_content", m.Reasoning)
		d.Set("thinking", m.Reasoning) // the name in Harmony's template
	}
	if m.ToolCallID != "" {
		d.Set("tool_call_id", a.callID(m.ToolCallID))
	}
	if len(m.ToolCalls) == 0 {
		return d, nil
	}
	calls := make([]jinja.Value, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		call, err := a.call(c)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		calls[i] = call
	}
	d.Set("tool_calls", jinja.NewList(calls...))
	return d, nil
}

func (a Abilities) call(c inference.ToolCall) (jinja.Value, error) {
	function := jinja.NewDict()
	function.Set("name", c.Name)
	if a.argumentsText {
		function.Set("arguments", c.Arguments)
	} else {
		arguments, err := parseJSON([]byte(c.Arguments))
		if err != nil {
			return nil, fmt.Errorf("the arguments are not JSON: %w", err)
		}
		function.Set("arguments", arguments)
	}
	call := jinja.NewDict()
	call.Set("id", a.callID(c.ID))
	call.Set("type", "function")
	call.Set("function", function)
	return call, nil
}

// shortID is the length of the only names of calls that Mistral's templates take.
const shortID = 9

// callID is a call's name in a form that the template takes: the same for the call
// and its result.
func (a Abilities) callID(id string) string {
	if !a.shortIDs || len(id) == shortID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return base32.StdEncoding.EncodeToString(sum[:])[:shortID]
}

// toolList is a list of tools as templates know it; nil for none.
func toolList(tools []inference.Tool) (jinja.Value, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	list := make([]jinja.Value, len(tools))
	for i, t := range tools {
		function := jinja.NewDict()
		function.Set("name", t.Name)
		function.Set("description", t.Description)
		schema := t.Parameters
		if schema == nil {
			schema = noParameters
		}
		parameters, err := parseJSON(schema)
		if err != nil {
			return nil, refuse(fmt.Sprintf("tools[%d].parameters", i), fmt.Errorf("the schema is not JSON: %w", err))
		}
		function.Set("parameters", parameters)
		tool := jinja.NewDict()
		tool.Set("type", "function")
		tool.Set("function", function)
		list[i] = tool
	}
	return jinja.NewList(list...), nil
}

// noParameters is the schema of a tool without any.
var noParameters = []byte(`{"type":"object","properties":{}}`)

func refuse(param string, err error) error {
	e := inference.Errorf(inference.CodeInvalidRequest, "%s: %v", param, err)
	e.Param = param
	return e
}
