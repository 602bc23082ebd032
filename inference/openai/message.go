package openai

import (
	"strings"

	"dure/inference"
	"dure/inference/front/strict"
)

// roles maps the roles of a message to those of a model. The later name
// "developer" means what "system" means.
var roles = map[string]string{
	"system":    inference.RoleSystem,
	"developer": inference.RoleSystem,
	"user":      inference.RoleUser,
	"assistant": inference.RoleAssistant,
	"tool":      inference.RoleTool,
}

// partSeparator joins the text parts of one message: each is a text of its own.
const partSeparator = "\n"

func messages(d *strict.Decoder, v strict.Value) ([]inference.Message, error) {
	var all []inference.Message
	err := d.List(v, func(v strict.Value) error {
		m, err := message(d, v)
		all = append(all, m)
		return err
	})
	if err == nil && len(all) == 0 {
		err = d.Invalid("must hold at least one message")
	}
	return all, err
}

func message(d *strict.Decoder, v strict.Value) (inference.Message, error) {
	var m inference.Message
	hasContent, refused := false, ""
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		if v.Kind == strict.KindNull {
			// Clients send back an answer's members with null for "none".
			return nil
		}
		switch name {
		case "role":
			m.Role, err = role(d, v)
		case "content":
			hasContent = true
			m.Content, err = content(d, v)
		case "name":
			m.Name, err = d.Text(v)
		case "tool_calls":
			m.ToolCalls, err = toolCalls(d, v)
		case "tool_call_id":
			m.ToolCallID, err = d.Text(v)
		case "reasoning_content", "reasoning": // an answer's, under the two names that servers give it
			m.Reasoning, err = d.Text(v)
		case "refusal":
			refused, err = d.Text(v)
		case "annotations":
			if !d.IsEmpty(v) {
				err = d.Unsupported("not supported; leave it out")
			}
		case "function_call":
			err = d.Unsupported("not supported in this form; send tool_calls")
		case "audio":
			err = d.Unsupported("not supported; leave it out")
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
	}
	if !hasContent && refused != "" {
		hasContent, m.Content = true, refused
	}
	return m, checkMessage(d, &m, hasContent)
}

// checkMessage looks at what the members of a message say together.
func checkMessage(d *strict.Decoder, m *inference.Message, hasContent bool) error {
	switch {
	case m.Role != inference.RoleAssistant && m.ToolCalls != nil:
		return d.At("tool_calls").Invalid("only an assistant calls tools, and this message is of the role %q", m.Role)
	case m.Role != inference.RoleAssistant && m.Reasoning != "":
		return d.Invalid("only an assistant thinks, and this message is of the role %q", m.Role)
	case m.Role == inference.RoleTool && m.ToolCallID == "":
		return d.Missing("tool_call_id")
	case m.Role != inference.RoleTool && m.ToolCallID != "":
		return d.At("tool_call_id").Invalid("only messages of the role tool answer a call, and this one is of the role %q", m.Role)
	case !hasContent && len(m.ToolCalls) == 0:
		return d.Missing("content")
	}
	return nil
}

func role(d *strict.Decoder, v strict.Value) (string, error) {
	given, err := d.Text(v)
	if err != nil {
		return "", err
	}
	if role, ok := roles[given]; ok {
		return role, nil
	}
	if given == "function" {
		return "", d.Unsupported("messages of the role function are not supported; send them as tool, with the tool_call_id of the call")
	}
	return "", d.Invalid("must be system, developer, user, assistant or tool, not %q", strict.Clip(given))
}

// content reads a string or a list of text parts.
func content(d *strict.Decoder, v strict.Value) (string, error) {
	switch v.Kind {
	case strict.KindString:
		return d.Text(v)
	case strict.KindList:
	default:
		return "", d.Expected("a string or a list of text parts", v)
	}
	var parts []string
	err := d.List(v, func(v strict.Value) error {
		text, err := part(d, v)
		parts = append(parts, text)
		return err
	})
	return strings.Join(parts, partSeparator), err
}

func part(d *strict.Decoder, v strict.Value) (string, error) {
	var form, text string
	hasText := false
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch name {
		case "type":
			form, err = d.Text(v)
			if err == nil && form != "text" {
				err = otherPart(d, form)
			}
		case "text":
			hasText = true
			text, err = d.Text(v)
		case "image_url", "input_audio", "file", "refusal":
			err = otherPart(d, name)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case form == "":
		return "", d.Missing("type")
	case !hasText:
		return "", d.Missing("text")
	}
	return text, nil
}

func otherPart(d *strict.Decoder, form string) error {
	d = d.Up() // the part is at fault, not one of its members
	switch form {
	case "image_url", "input_audio", "file", "refusal":
		return d.Unsupported("parts of the type %s are not supported; send parts of the type text", form)
	}
	return d.Invalid("the type of a part must be text, not %q", strict.Clip(form))
}
