package openai

import (
	"encoding/json"
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

func (d *decoder) messages(t json.Token) ([]inference.Message, error) {
	var all []inference.Message
	err := d.list(t, func(t json.Token) error {
		m, err := d.message(t)
		all = append(all, m)
		return err
	})
	if err == nil && len(all) == 0 {
		err = d.invalid("must hold at least one message")
	}
	return all, err
}

func (d *decoder) message(t json.Token) (inference.Message, error) {
	var m inference.Message
	hasContent := false
	err := d.object(t, func(name string, t json.Token) (err error) {
		if t == nil {
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

func (d *decoder) role(t json.Token) (string, error) {
	given, err := d.text(t)
	if err != nil {
		return "", err
	}
	if role, ok := roles[given]; ok {
		return role, nil
	}
	if given == "tool" || given == "function" {
		return "", d.unsupported("messages of the role %q are not supported", given)
	}
	return "", d.invalid("must be system, developer, user or assistant, not %q", clip(given))
}

// content reads a string or a list of text parts.
func (d *decoder) content(t json.Token) (string, error) {
	if _, ok := t.(string); ok {
		return d.text(t)
	}
	if !begins(t, '[') {
		return "", d.expected("a string or a list of text parts", t)
	}
	var parts []string
	err := d.list(t, func(t json.Token) error {
		text, err := d.part(t)
		parts = append(parts, text)
		return err
	})
	return strings.Join(parts, partSeparator), err
}

func (d *decoder) part(t json.Token) (string, error) {
	var kind, text string
	hasText := false
	err := d.object(t, func(name string, t json.Token) (err error) {
		switch name {
		case "type":
			kind, err = d.text(t)
			if err == nil && kind != "text" {
				err = d.otherPart(kind)
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
	case kind == "":
		return "", d.missing("type")
	case !hasText:
		return "", d.missing("text")
	}
	return text, nil
}

func (d *decoder) otherPart(kind string) error {
	d.path = d.path[:len(d.path)-1] // the part is at fault, not one of its members
	switch kind {
	case "image_url", "input_audio", "file", "refusal":
		return d.unsupported("parts of the type %s are not supported; send parts of the type text", kind)
	}
	return d.invalid("the type of a part must be text, not %q", clip(kind))
}
