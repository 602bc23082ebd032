package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"dure/inference"
	"dure/inference/front/strict"
)

// maxTools and maxToolName are OpenAI's, widened for tools of other servers.
const (
	maxTools    = 512
	maxToolName = 128
)

// wishes are what a request says about the form of its answer.
type wishes struct {
	tools     []inference.Tool
	choice    inference.ToolChoice
	format    *inference.Format
	formatBy  string // the field that set it
	reasoning inference.Reasoning
	goesOn    bool // the last message is the beginning of the answer
	// allowed are the names of the tools that may be called; nil for all of them.
	allowed []string
}

// into puts them into what the model is asked.
func (w *wishes) into(ask *inference.Request) {
	ask.Tools, ask.ToolChoice, ask.Format, ask.Reasoning, ask.Continue = w.callable(), w.choice, w.format, w.reasoning, w.goesOn
}

// callable are the tools that the answer may call.
func (w *wishes) callable() []inference.Tool {
	if w.allowed == nil {
		return w.tools
	}
	return slices.DeleteFunc(slices.Clone(w.tools), func(t inference.Tool) bool { return !slices.Contains(w.allowed, t.Name) })
}

// setFormat notes a form of the answer; there can be one.
func (w *wishes) setFormat(d *strict.Decoder, field string, f *inference.Format) error {
	if f == nil {
		return nil
	}
	if w.format != nil {
		return d.Invalid("contradicts %s: an answer has one form", w.formatBy)
	}
	w.format, w.formatBy = f, field
	return nil
}

func setTools(d *strict.Decoder, r *request, v strict.Value) error {
	return d.List(v, func(v strict.Value) error {
		if len(r.wishes.tools) == maxTools {
			return d.Invalid("at most %d tools are allowed", maxTools)
		}
		t, err := tool(d, v)
		if err == nil && slices.ContainsFunc(r.wishes.tools, func(o inference.Tool) bool { return o.Name == t.Name }) {
			err = d.Invalid("the name %q is that of an earlier tool", t.Name)
		}
		r.wishes.tools = append(r.wishes.tools, t)
		return err
	})
}

// tool reads {"type": "function", "function": {...}}.
func tool(d *strict.Decoder, v strict.Value) (t inference.Tool, err error) {
	kind, found := "", false
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch name {
		case "type":
			kind, err = "function", isFunction(d, v, "tools")
		case "function":
			found = true
			t, err = function(d, v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
	case kind == "":
		err = d.Missing("type")
	case !found:
		err = d.Missing("function")
	}
	return t, err
}

// isFunction reads a type, of what is named by what.
func isFunction(d *strict.Decoder, v strict.Value, what string) error {
	kind, err := d.Text(v)
	if err == nil && kind != "function" {
		err = d.Unsupported("%s of the type %q are not supported; the only type is function", what, strict.Clip(kind))
	}
	return err
}

func function(d *strict.Decoder, v strict.Value) (t inference.Tool, err error) {
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		if v.Kind == strict.KindNull {
			return nil
		}
		return functionMember(d, &t, name, v)
	})
	if err == nil && t.Name == "" {
		err = d.Missing("name")
	}
	return t, err
}

// functionMember reads a member of a function, wherever it stands.
func functionMember(d *strict.Decoder, t *inference.Tool, name string, v strict.Value) (err error) {
	switch name {
	case "name":
		t.Name, err = toolName(d, v)
	case "description":
		t.Description, err = d.Text(v)
	case "parameters":
		t.Parameters, err = schemaObject(d, v)
	case "strict":
		t.Strict, err = d.Boolean(v)
	default:
		err = d.Unknown(v)
	}
	return err
}

// toolName reads a name that every family of models can write.
func toolName(d *strict.Decoder, v strict.Value) (string, error) {
	name, err := d.Text(v)
	bad := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("_-.:/", c))
	}
	if err == nil && (name == "" || len(name) > maxToolName || strings.ContainsFunc(name, bad)) {
		err = d.Invalid("a name must have 1 to %d letters, digits, or any of _-.:/, and is %q", maxToolName, strict.Clip(name))
	}
	return name, err
}

// schemaObject reads a JSON Schema as it is.
func schemaObject(d *strict.Decoder, v strict.Value) (json.RawMessage, error) {
	if v.Kind != strict.KindObject {
		return nil, d.Expected("a JSON Schema, which is an object", v)
	}
	return d.Raw(v)
}

// checkTools looks at what the fields say together.
func checkTools(d *strict.Decoder, r *request) error {
	w := &r.wishes
	named := func(t inference.Tool) bool { return t.Name == w.choice.Name }
	missing := slices.IndexFunc(w.allowed, func(name string) bool {
		return !slices.ContainsFunc(w.tools, func(t inference.Tool) bool { return t.Name == name })
	})
	switch {
	case w.choice.Mode == inference.ToolRequired && len(w.tools) == 0:
		return d.At("tool_choice").Invalid("asks for a call, and there are no tools; send tools")
	case w.choice.Name != "" && !slices.ContainsFunc(w.tools, named):
		return d.At("tool_choice").Invalid("names the tool %q, which is not among tools", strict.Clip(w.choice.Name))
	case missing >= 0:
		return d.At("tool_choice").Invalid("allows the tool %q, which is not among tools", strict.Clip(w.allowed[missing]))
	case w.format != nil && w.choice.Mode == inference.ToolRequired:
		return d.At("tool_choice").Invalid("asks for a call, and %s for a text of a form; send one of them", w.formatBy)
	case w.goesOn && (len(r.messages) == 0 || r.messages[len(r.messages)-1].Role != inference.RoleAssistant):
		return d.At("continue_final_message").Invalid("the last message must be an assistant's, whose text the answer goes on with")
	}
	return nil
}

// toolCalls reads the calls of a past answer.
func toolCalls(d *strict.Decoder, v strict.Value) (calls []inference.ToolCall, err error) {
	err = d.List(v, func(v strict.Value) error {
		var c inference.ToolCall
		found := false
		err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
			if v.Kind == strict.KindNull {
				return nil
			}
			switch name {
			case "id":
				c.ID, err = d.Text(v)
			case "type":
				kind, err := d.Text(v)
				if err == nil && kind != "function" {
					err = d.Unsupported("calls of the type %q are not supported; the only type is function", strict.Clip(kind))
				}
				return err
			case "index": // streamed calls that were put together carry it
				err = d.Skip(v)
			case "function":
				found = true
				c.Name, c.Arguments, err = called(d, v)
			default:
				err = d.Unknown(v)
			}
			return err
		})
		switch {
		case err != nil:
		case !found:
			err = d.Missing("function")
		case c.ID == "":
			err = d.Missing("id")
		}
		calls = append(calls, c)
		return err
	})
	return calls, err
}

func called(d *strict.Decoder, v strict.Value) (name, arguments string, err error) {
	err = d.Object(v, strict.MaxMembers, func(member string, v strict.Value) (err error) {
		switch member {
		case "name":
			name, err = d.Text(v)
		case "arguments":
			if arguments, err = d.Text(v); err == nil && strings.TrimSpace(arguments) != "" && !isObject(arguments) {
				err = d.Invalid("must be the text of a JSON object, and is %q", strict.Clip(arguments))
			}
		default:
			err = d.Unknown(v)
		}
		return err
	})
	if err == nil && name == "" {
		err = d.Missing("name")
	}
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	return name, arguments, err
}

func isObject(text string) bool {
	return json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimSpace(text), "{")
}
