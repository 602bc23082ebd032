package scripted

import (
	"encoding/json"
	"fmt"

	"dure/inference"
)

// wireRequest is the body of a chat request, as far as a script looks at it. How an
// answer is to be drawn has no meaning for one that is written already.
type wireRequest struct {
	Model      string        `json:"model"`
	Messages   []wireMessage `json:"messages"`
	Tools      []wireTool    `json:"tools"`
	ToolChoice any           `json:"tool_choice"`
	Stream     bool          `json:"stream"`
	Options    struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int    `json:"max_tokens"`
	MaxCompletionTokens int    `json:"max_completion_tokens"`
	N                   int    `json:"n"`
	Session             string `json:"session"`
	CacheKey            string `json:"prompt_cache_key"`
	Agent               string `json:"agent"`
	Parent              string `json:"parent"`
	Priority            string `json:"priority"`
	Next                string `json:"next"`
}

type wireMessage struct {
	Role       string      `json:"role"`
	Content    wireContent `json:"content"`
	Name       string      `json:"name"`
	Reasoning  string      `json:"reasoning_content"`
	ToolCalls  []wireCall  `json:"tool_calls"`
	ToolCallID string      `json:"tool_call_id"`
}

// wireContent is text, or a list of parts that are text.
type wireContent string

func (c *wireContent) UnmarshalJSON(b []byte) error {
	var text *string
	if json.Unmarshal(b, &text) == nil {
		if text != nil {
			*c = wireContent(*text)
		}
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return fmt.Errorf("content is neither text nor a list of parts: %w", err)
	}
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("content of type %q: a script reads text", p.Type)
		}
		*c += wireContent(p.Text)
	}
	return nil
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type wireCall struct {
	Index    *int         `json:"index,omitempty"` // in streams
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// request is the body in the words of this program.
func (w *wireRequest) request() (*inference.Request, error) {
	if w.N > 1 {
		return nil, inference.Errorf(inference.CodeUnsupported, "n is %d: a script has one answer", w.N)
	}
	r := &inference.Request{Params: inference.Params{MaxTokens: max(w.MaxTokens, w.MaxCompletionTokens)}}
	r.Caller = inference.Caller{Session: w.Session, Agent: w.Agent, Parent: w.Parent, Priority: inference.Priority(w.Priority), Next: inference.Phase(w.Next)}
	if r.Caller.Session == "" {
		r.Caller.Session = w.CacheKey
	}
	if w.ToolChoice == "none" {
		r.ToolChoice.Mode = inference.ToolNone
	}
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, inference.Tool{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
	}
	for i, m := range w.Messages {
		msg := inference.Message{Role: m.Role, Content: string(m.Content), Name: m.Name, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID}
		switch m.Role {
		case "developer":
			msg.Role = inference.RoleSystem
		case inference.RoleSystem, inference.RoleUser, inference.RoleAssistant, inference.RoleTool:
		default:
			return nil, inference.Errorf(inference.CodeInvalidRequest, "messages[%d].role is %q", i, m.Role)
		}
		for _, c := range m.ToolCalls {
			msg.ToolCalls = append(msg.ToolCalls, inference.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		r.Messages = append(r.Messages, msg)
	}
	return r, nil
}

// chunk is one event of a stream, or a whole answer.
type chunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []wireChoice `json:"choices"`
	Usage   *wireUsage   `json:"usage,omitempty"`
}

type wireChoice struct {
	Index   int        `json:"index"`
	Delta   *wireDelta `json:"delta,omitempty"`
	Message *wireDelta `json:"message,omitempty"`
	Finish  *string    `json:"finish_reason"`
}

type wireDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

type wireUsage struct {
	Prompt        int           `json:"prompt_tokens"`
	Completion    int           `json:"completion_tokens"`
	Total         int           `json:"total_tokens"`
	PromptDetails promptDetails `json:"prompt_tokens_details"`
	Details       answerDetails `json:"completion_tokens_details"`
}

type promptDetails struct {
	Cached int `json:"cached_tokens"`
}

type answerDetails struct {
	Reasoning int `json:"reasoning_tokens"`
}

func newUsage(u *inference.Usage) *wireUsage {
	return &wireUsage{
		Prompt: u.PromptTokens, Completion: u.CompletionTokens, Total: u.PromptTokens + u.CompletionTokens,
		PromptDetails: promptDetails{u.CachedTokens}, Details: answerDetails{u.ReasoningTokens},
	}
}

// newDelta is an event as a stream tells it.
func newDelta(e inference.Event) *wireDelta {
	switch e.Kind {
	case inference.EventText:
		return &wireDelta{Content: &e.Text}
	case inference.EventReasoning:
		return &wireDelta{Reasoning: e.Text}
	}
	c := wireCall{Index: &e.Call.Index, ID: e.Call.ID, Function: wireFunction{e.Call.Name, e.Call.Arguments}}
	if c.ID != "" {
		c.Type = "function"
	}
	return &wireDelta{ToolCalls: []wireCall{c}}
}

// add puts a piece to a whole answer.
func (d *wireDelta) add(e inference.Event) {
	switch e.Kind {
	case inference.EventText:
		text := e.Text
		if d.Content != nil {
			text = *d.Content + text
		}
		d.Content = &text
	case inference.EventReasoning:
		d.Reasoning += e.Text
	case inference.EventToolCall:
		if e.Call.Index == len(d.ToolCalls) {
			d.ToolCalls = append(d.ToolCalls, wireCall{ID: e.Call.ID, Type: "function", Function: wireFunction{Name: e.Call.Name}})
		}
		d.ToolCalls[e.Call.Index].Function.Arguments += e.Call.Arguments
	}
}
