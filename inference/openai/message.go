package openai

import (
	"strings"

	"dure/inference"
)

// roles maps the roles of a message to those of a model. The later name
// "developer" means what "system" means.
var roles = map[string]string{
	"system":    inference.RoleSystem,
	"developer": inference.RoleSystem,
	"user":      inference.RoleUser,
	"assistant": inference.RoleAssistant,
}

// partSeparator joins the text parts of one message: each is a text of its own.
const partSeparator = "\n"

func (d *decoder) messages(t token) ([]inference.Message, error) {
	var all []inference.Message
	err := d.list(t, func(t token) error {
		m, err := d.message(t)
		all = append(all, m)
		return err
	})
	if err == nil && len(all) == 0 {
		err = d.invalid("must hold at least one message")
	}
	return all, err
}

func (d *decoder) message(t token) (inference.Message, error) {
	var m inference.Message
	hasContent := false
	err := d.object(t, maxMembers, func(name string, t token) (err error) {
		if t.kind == kindNull {
			// Clients send back an answer's members with null for "none".
			return nil
		}
		switch name {
		case "role":
			m.Role, err = d.role(t)
		case "content":
			hasContent = true
			m.Content, err = d.content(t)
		case "name":
			m.Name, err = d.text(t)
		case "tool_calls", "annotations":
			if !d.isEmpty(t) {
				err = d.unsupported("not supported; leave it out")
			}
		case "tool_call_id", "function_call", "audio", "refusal":
			err = d.unsupported("not supported; leave it out")
		default:
			err = d.unknown(t)
		}
		return err
	})
	switch {
	case err != nil:
		return m, err
	case m.Role == "":
		return m, d.missing("role")
	case !hasContent:
		return m, d.missing("content")
	}
	return m, nil
}

func (d *decoder) role(t token) (string, error) {
	given, err := d.text(t)
	if err != nil {
		return "", err
	}
	if role, ok := roles[given]; ok {
		return role, nil
	}
	if given == "tool" || given == "function" {
		return "", d.unsupported("messages of the role %q are not supported; send their text in a message of the role user", given)
	}
	return "", d.invalid("must be system, developer, user or assistant, not %q", clip(given))
}

// content reads a string or a list of text parts.
func (d *decoder) content(t token) (string, error) {
	switch t.kind {
	case kindString:
		return d.text(t)
	case kindList:
	default:
		return "", d.expected("a string or a list of text parts", t)
	}
	var parts []string
	err := d.list(t, func(t token) error {
		text, err := d.part(t)
		parts = append(parts, text)
		return err
	})
	return strings.Join(parts, partSeparator), err
}

func (d *decoder) part(t token) (string, error) {
	var form, text string
	hasText := false
	err := d.object(t, maxMembers, func(name string, t token) (err error) {
		switch name {
		case "type":
			form, err = d.text(t)
			if err == nil && form != "text" {
				err = d.otherPart(form)
			}
		case "text":
			hasText = true
			text, err = d.text(t)
		case "image_url", "input_audio", "file", "refusal":
			err = d.otherPart(name)
		default:
			err = d.unknown(t)
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case form == "":
		return "", d.missing("type")
	case !hasText:
		return "", d.missing("text")
	}
	return text, nil
}

func (d *decoder) otherPart(form string) error {
	d.path = d.path[:len(d.path)-1] // the part is at fault, not one of its members
	switch form {
	case "image_url", "input_audio", "file", "refusal":
		return d.unsupported("parts of the type %s are not supported; send parts of the type text", form)
	}
	return d.invalid("the type of a part must be text, not %q", clip(form))
}
