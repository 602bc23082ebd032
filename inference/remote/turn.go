package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	"dure/inference"
)

// turn is a message of the API: what one side says until the other does.
type turn struct {
	Role    string  `json:"role"` // user or assistant
	Content []block `json:"content"`
}

// block is a part of a turn.
type block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`

	Thinking  *string `json:"thinking,omitempty"` // may be empty, where it is not shown
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"` // of redacted_thinking

	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	CallID  string `json:"tool_use_id,omitempty"`
	Content string `json:"content,omitempty"` // of a tool's result

	Cache *cacheMark `json:"cache_control,omitempty"`
}

// conversation is the messages in the API's form. Text that is only white space is no
// block, since the API refuses one; with that a message may be none.
func (a *anthropic) conversation(messages []inference.Message) (system []block, turns []turn, err error) {
	add := func(role string, blocks ...block) {
		if len(blocks) == 0 {
			return
		}
		if n := len(turns); n > 0 && turns[n-1].Role == role {
			turns[n-1].Content = append(turns[n-1].Content, blocks...)
			return
		}
		turns = append(turns, turn{role, blocks})
	}
	for i, m := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		switch m.Role {
		case inference.RoleSystem:
			if len(turns) > 0 {
				return nil, nil, unsupported(at+".role", "Anthropic's API has system messages at the beginning only; this one follows others")
			}
			system = append(system, said(m.Content)...)
		case inference.RoleUser:
			add(inference.RoleUser, said(m.Content)...)
		case inference.RoleAssistant:
			blocks, err := a.assistant(m, at)
			if err != nil {
				return nil, nil, err
			}
			add(inference.RoleAssistant, blocks...)
		case inference.RoleTool:
			if m.ToolCallID == "" {
				return nil, nil, missing(at+".tool_call_id", "names the call whose result this is")
			}
			add(inference.RoleUser, block{Type: "tool_result", CallID: callID(m.ToolCallID), Content: m.Content})
		default:
			return nil, nil, unsupported(at+".role", "the role %q is not known", m.Role)
		}
	}
	if len(turns) == 0 {
		return nil, nil, missing("messages", "must say something")
	}
	return system, turns, nil
}

func missing(param, why string) error {
	e := inference.Errorf(inference.CodeInvalidRequest, "%s %s", param, why)
	e.Param = param
	return e
}

// said is a text as blocks.
func said(text string) []block {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []block{{Type: "text", Text: text}}
}

// assistant is what an assistant said, with its thinking where that is still signed:
// its blocks then come back as they came, but for the names of calls, which are the
// caller's.
func (a *anthropic) assistant(m inference.Message, at string) (blocks []block, err error) {
	calls := make([]block, len(m.ToolCalls))
	for i, c := range m.ToolCalls {
		if c.ID == "" {
			return nil, missing(fmt.Sprintf("%s.tool_calls[%d].id", at, i), "names the call")
		}
		calls[i] = block{Type: "tool_use", ID: callID(c.ID), Name: c.Name, Input: inputOf(c.Arguments)}
	}
	kept := a.memory.find(m)
	if kept == nil {
		kept = a.proved(m)
	}
	if kept == nil {
		return append(said(m.Content), calls...), nil
	}
	for _, b := range kept {
		if b.Type == "tool_use" {
			b, calls = calls[0], calls[1:]
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// inputOf are the arguments of a call as an object. A model's may be no JSON at all: it
// then reads what it wrote as a text.
func inputOf(arguments string) json.RawMessage {
	raw := json.RawMessage(arguments)
	if strings.HasPrefix(strings.TrimSpace(arguments), "{") && json.Valid(raw) {
		return raw
	}
	if strings.TrimSpace(arguments) == "" {
		return json.RawMessage("{}")
	}
	text, err := json.Marshal(map[string]string{"unreadable_arguments": arguments})
	if err != nil { // strings always marshal
		return json.RawMessage("{}")
	}
	return text
}
