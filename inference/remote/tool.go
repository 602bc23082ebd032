package remote

import (
	"encoding/json"

	"dure/inference"
)

// wireMessage is a message in OpenAI's form. What an assistant thought goes under the
// name that most servers know.
type wireMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"`
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func newMessages(messages []inference.Message) []wireMessage {
	all := make([]wireMessage, len(messages))
	for i, m := range messages {
		all[i] = wireMessage{Role: m.Role, Content: m.Content, Name: m.Name, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			all[i].ToolCalls = append(all[i].ToolCalls, wireCall{c.ID, "function", wireFunction{c.Name, c.Arguments}})
		}
	}
	return all
}

// wireTools are the fields of a request that say what the answer may be.
type wireTools struct {
	Tools     []wireTool       `json:"tools,omitempty"`
	Choice    any              `json:"tool_choice,omitempty"`
	Parallel  *bool            `json:"parallel_tool_calls,omitempty"`
	Format    any              `json:"response_format,omitempty"`
	Grammar   string           `json:"grammar,omitempty"` // llama-server's name
	Effort    inference.Effort `json:"reasoning_effort,omitempty"`
	Budget    int              `json:"reasoning_budget,omitempty"`
	Continues bool             `json:"continue_final_message,omitempty"`
}

type wireTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      bool            `json:"strict,omitempty"`
}

func newTools(at *Endpoint, req *inference.Request) wireTools {
	thinks := at.reasoning(req)
	w := wireTools{Effort: thinks.Effort, Budget: thinks.Budget, Continues: req.Continue}
	for _, t := range req.Tools {
		w.Tools = append(w.Tools, wireTool{"function", function(t)})
	}
	switch c := req.ToolChoice; {
	case c.Name != "":
		w.Choice = map[string]any{"type": "function", "function": map[string]string{"name": c.Name}}
	case c.Mode != "":
		w.Choice = c.Mode
	}
	if req.ToolChoice.Single {
		one := false
		w.Parallel = &one
	}
	switch f := req.Format; {
	case f == nil:
	case f.Grammar != "":
		w.Grammar = f.Grammar
	case f.Schema == nil:
		w.Format = map[string]string{"type": "json_object"}
	default:
		w.Format = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "strict": true, "schema": f.Schema}}
	}
	return w
}

// delta is what a chunk adds to an answer.
type delta struct {
	Content   string `json:"content"`
	Reasoning string `json:"reasoning_content"`
	Thinking  string `json:"reasoning"` // the name that other servers use
	ToolCalls []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// events are those of a delta but for its text.
func (d *delta) events() (all []inference.Event) {
	if thought := d.Reasoning + d.Thinking; thought != "" {
		all = append(all, inference.Event{Kind: inference.EventReasoning, Text: thought})
	}
	for _, c := range d.ToolCalls {
		all = append(all, inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{
			Index: c.Index, ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}})
	}
	return all
}
