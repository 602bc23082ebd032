package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"dure/inference"
)

// What a template without tools is told instead. Most models that were trained on
// tools at all know this form, Hermes'.
const (
	toolsHead = "You may call tools. Each tool is a function; its parameters are a JSON Schema:\n<tools>\n"
	toolsTail = "</tools>\nTo call a tool write a JSON object with its name and arguments between these tags, one call in each pair, and nothing behind the last:\n" +
		"<tool_call>\n{\"name\": \"...\", \"arguments\": {...}}\n</tool_call>\n" +
		"What it returns comes back between <tool_response> and </tool_response>. Call a tool only if you need it; else answer."
)

// fill makes text of what the template cannot print: tools become a part of the
// system message, calls of the answer, results messages of the user. The messages
// that came are not changed. What is added is the same in each turn, so that a
// conversation keeps its prefix.
func (a Abilities) fill(messages []inference.Message, tools []inference.Tool) ([]inference.Message, []inference.Tool) {
	if len(tools) > 0 && !a.Tools {
		messages, tools = addTools(messages, tools), nil
	}
	if a.Calls && a.Results {
		return messages, tools
	}
	out := make([]inference.Message, 0, len(messages))
	for _, m := range messages {
		if !a.Calls && len(m.ToolCalls) > 0 {
			m.Content, m.ToolCalls = withCalls(m), nil
		}
		if !a.Results && m.Role == inference.RoleTool {
			text := "<tool_response>\n" + m.Content + "\n</tool_response>"
			if last := len(out) - 1; last >= 0 && out[last].Role == inference.RoleUser && strings.HasPrefix(out[last].Content, "<tool_response>") {
				out[last].Content += "\n" + text // many templates refuse two turns of a user
				continue
			}
			m = inference.Message{Role: inference.RoleUser, Content: text}
		}
		out = append(out, m)
	}
	return out, tools
}

// addTools puts what tools there are behind the system text.
func addTools(messages []inference.Message, tools []inference.Tool) []inference.Message {
	var b strings.Builder
	b.WriteString(toolsHead)
	for _, t := range tools {
		line := struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
		}{t.Name, t.Description, t.Parameters}
		if line.Parameters == nil {
			line.Parameters = noParameters
		}
		b.WriteString(plainJSON(line) + "\n")
	}
	b.WriteString(toolsTail)
	first := inference.Message{Role: inference.RoleSystem, Content: b.String()}
	if len(messages) > 0 && messages[0].Role == inference.RoleSystem {
		if messages[0].Content != "" {
			first.Content = messages[0].Content + "\n\n" + first.Content
		}
		messages = messages[1:]
	}
	return append([]inference.Message{first}, messages...)
}

// withCalls is the content of an answer with its calls behind it.
func withCalls(m inference.Message) string {
	var b strings.Builder
	b.WriteString(m.Content)
	for _, c := range m.ToolCalls {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "<tool_call>\n{\"name\": %s, \"arguments\": %s}\n</tool_call>", plainJSON(c.Name), c.Arguments)
	}
	return b.String()
}

// plainJSON is v without the escapes that only HTML needs; what is no JSON (a schema
// that a surface let through) is left out.
func plainJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
