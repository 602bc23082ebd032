package ollama

import (
	"encoding/json"
	"errors"
	"fmt"

	"dure/inference"
	"dure/inference/front/strict"
)

func asError(err error, e **inference.Error) bool { return errors.As(err, e) }

func setMessages(d *strict.Decoder, r *request, v strict.Value) error {
	return d.List(v, func(v strict.Value) error {
		m, err := message(d, r, v)
		r.messages = append(r.messages, m)
		return err
	})
}

func message(d *strict.Decoder, r *request, v strict.Value) (m inference.Message, err error) {
	tool := ""
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		if v.Kind == strict.KindNull {
			return nil
		}
		switch name {
		case "role":
			m.Role, err = d.OneOf(v, []string{inference.RoleSystem, inference.RoleUser, inference.RoleAssistant, inference.RoleTool})
		case "content":
			m.Content, err = d.Text(v)
		case "thinking":
			m.Reasoning, err = d.Text(v)
		case "images":
			if !d.IsEmpty(v) {
				err = d.Unsupported("images are not supported; leave it out")
			}
		case "tool_calls":
			m.ToolCalls, err = calls(d, len(r.messages), v)
		case "tool_name", "name":
			tool, err = d.Text(v)
		case "tool_call_id":
			m.ToolCallID, err = d.Text(v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
		return m, err
	case m.Role == "":
		return m, d.Missing("role")
	case m.Role != inference.RoleAssistant && m.ToolCalls != nil:
		return m, d.At("tool_calls").Invalid("only an assistant calls tools, and this message is of the role %q", m.Role)
	}
	if m.Name = tool; m.Role == inference.RoleTool {
		r.answers(&m)
	}
	return m, nil
}

// answers finds the call whose result a message is, where that is not named: the first
// of the last calls that has none yet, of the same tool if one is named.
func (r *request) answers(m *inference.Message) {
	last := len(r.messages) - 1
	taken := map[string]bool{}
	for ; last >= 0 && r.messages[last].Role == inference.RoleTool; last-- {
		taken[r.messages[last].ToolCallID] = true
	}
	if last < 0 {
		return
	}
	for _, c := range r.messages[last].ToolCalls {
		if m.ToolCallID == c.ID || m.ToolCallID == "" && !taken[c.ID] && (m.Name == "" || m.Name == c.Name) {
			m.ToolCallID, m.Name = c.ID, c.Name
			return
		}
	}
}

// calls reads the calls of a past answer. Those without an id get one by their place.
func calls(d *strict.Decoder, at int, v strict.Value) (all []inference.ToolCall, err error) {
	err = d.List(v, func(v strict.Value) error {
		c := inference.ToolCall{ID: fmt.Sprintf("call_%d_%d", at, len(all)), Arguments: "{}"}
		err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
			switch {
			case v.Kind == strict.KindNull:
			case name == "id":
				var id string
				if id, err = d.Text(v); id != "" {
					c.ID = id
				}
			case name == "type":
				_, err = d.OneOf(v, []string{"function"})
			case name == "function":
				err = called(d, &c, v)
			default:
				err = d.Unknown(v)
			}
			return err
		})
		if err == nil && c.Name == "" {
			err = d.Missing("function.name")
		}
		all = append(all, c)
		return err
	})
	return all, err
}

func called(d *strict.Decoder, c *inference.ToolCall, v strict.Value) error {
	return d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch {
		case v.Kind == strict.KindNull:
		case name == "name":
			c.Name, err = d.Text(v)
		case name == "index":
			err = d.Skip(v)
		case name == "arguments" && v.Kind == strict.KindObject:
			var raw json.RawMessage
			if raw, err = d.Raw(v); err == nil {
				var compact []byte
				compact, err = json.Marshal(raw)
				c.Arguments = string(compact)
			}
		case name == "arguments":
			err = d.Expected("an object", v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
}

func setTools(d *strict.Decoder, r *request, v strict.Value) error {
	return d.List(v, func(v strict.Value) error {
		var t inference.Tool
		err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
			switch {
			case v.Kind == strict.KindNull:
			case name == "type":
				_, err = d.OneOf(v, []string{"function"})
			case name == "function":
				err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
					switch {
					case v.Kind == strict.KindNull:
					case name == "name":
						t.Name, err = d.Label(v)
					case name == "description":
						t.Description, err = d.Text(v)
					case name == "parameters":
						if v.Kind != strict.KindObject {
							return d.Expected("a JSON Schema, which is an object", v)
						}
						t.Parameters, err = d.Raw(v)
					case name == "strict":
						t.Strict, err = d.Boolean(v)
					default:
						err = d.Unknown(v)
					}
					return err
				})
			default:
				err = d.Unknown(v)
			}
			return err
		})
		if err == nil && t.Name == "" {
			err = d.Missing("function.name")
		}
		r.tools = append(r.tools, t)
		return err
	})
}
