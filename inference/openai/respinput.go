package openai

import (
	"slices"
	"strings"

	"dure/inference"
	"dure/inference/front/strict"
)

// maxItems is how many items one request may send.
const maxItems = 1 << 16

// setItems reads a text, which is a user's, or a list of items.
func setItems(d *strict.Decoder, r *respRequest, v strict.Value) error {
	switch v.Kind {
	case strict.KindString:
		said, err := d.Text(v)
		r.input = []item{{Type: itemMessage, Role: inference.RoleUser, Content: []itemPart{{Type: partInput, Text: said}}}}
		return err
	case strict.KindList:
	default:
		return d.Expected("a string or a list of items", v)
	}
	return d.List(v, func(v strict.Value) error {
		if len(r.input) == maxItems {
			return d.Invalid("at most %d items are allowed", maxItems)
		}
		it, err := inputItem(d, v)
		r.input = append(r.input, it)
		return err
	})
}

func inputItem(d *strict.Decoder, v strict.Value) (it item, err error) {
	told := map[string]bool{}
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) error {
		if v.Kind == strict.KindNull {
			return nil // clients send back an answer's members with null for "none"
		}
		told[name] = true
		return it.member(d, name, v)
	})
	if err != nil {
		return it, err
	}
	if it.Type == "" && told["role"] {
		it.Type = itemMessage
	}
	if it.Type == "" && told["id"] && len(told) == 1 {
		it.Type = itemReference
	}
	return it, it.check(d, told)
}

// member reads one member of an item, whose type may come later.
func (it *item) member(d *strict.Decoder, name string, v strict.Value) (err error) {
	switch name {
	case "type":
		if it.Type, err = d.Text(v); err == nil && !slices.Contains(itemTypes, it.Type) {
			err = d.Unsupported("items of the type %q are not supported; the types are %s", strict.Clip(it.Type), strings.Join(itemTypes, ", "))
		}
	case "id":
		it.ID, err = d.Label(v)
	case "status":
		it.Status, err = d.OneOf(v, []string{statusInProgress, statusCompleted, statusIncomplete})
	case "role":
		it.Role, err = d.OneOf(v, []string{"user", "assistant", "system", "developer"})
	case "content":
		it.Content, err = itemParts(d, v)
	case "summary":
		it.Summary, err = itemParts(d, v)
	case "encrypted_content":
		it.Encrypted, err = d.Text(v)
		if _, ok := decodeReasoning(it.Encrypted); err == nil && it.Encrypted != "" && !ok {
			err = d.Unsupported("was encrypted by another server, and cannot be read here; leave it out")
		}
	case "call_id":
		it.CallID, err = d.Text(v)
	case "name":
		it.Name, err = d.Text(v)
	case "namespace":
		it.Namespace, err = d.Text(v)
	case "arguments":
		it.Arguments, err = arguments(d, v)
	case "output":
		var parts []itemPart
		parts, err = itemParts(d, v)
		it.Output = text(parts)
	case "phase": // what an assistant's text was: it is one either way
		_, err = d.OneOf(v, []string{"commentary", "final_answer"})
	default:
		err = d.Unknown(v)
	}
	return err
}

// check looks at what an item of its type needs.
func (it *item) check(d *strict.Decoder, told map[string]bool) error {
	needs := map[string][]string{
		"": {"type"}, itemMessage: {"role", "content"}, itemCall: {"call_id", "name", "arguments"},
		itemOutput: {"call_id", "output"}, itemReference: {"id"},
	}
	for _, name := range needs[it.Type] {
		if !told[name] {
			return d.Missing(name)
		}
	}
	if it.Type == itemCall && (it.Name == "" || it.CallID == "") {
		return d.Invalid("a function_call has a name and a call_id")
	}
	return nil
}

func arguments(d *strict.Decoder, v strict.Value) (string, error) {
	given, err := d.Text(v)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(given) == "":
		return "{}", nil
	case !isObject(given):
		return "", d.Invalid("must be the text of a JSON object, and is %q", strict.Clip(given))
	}
	return given, nil
}

// itemParts reads a string or a list of text parts.
func itemParts(d *strict.Decoder, v strict.Value) ([]itemPart, error) {
	switch v.Kind {
	case strict.KindString:
		said, err := d.Text(v)
		return []itemPart{{Type: partInput, Text: said}}, err
	case strict.KindList:
	default:
		return nil, d.Expected("a string or a list of text parts", v)
	}
	var all []itemPart
	err := d.List(v, func(v strict.Value) error {
		p, err := readPart(d, v)
		all = append(all, p)
		return err
	})
	return all, err
}

// textParts are the types of parts that are text. A refusal is kept as what it says.
var textParts = []string{partInput, partOutput, partReasoning, partSummary, "text", "refusal"}

func readPart(d *strict.Decoder, v strict.Value) (p itemPart, err error) {
	hasText := false
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		if v.Kind == strict.KindNull {
			return nil
		}
		switch name {
		case "type":
			if p.Type, err = d.Text(v); err == nil && !slices.Contains(textParts, p.Type) {
				err = d.Up().Unsupported("parts of the type %q are not supported; send text, as %s", strict.Clip(p.Type), partInput)
			}
		case "text", "refusal":
			hasText = true
			p.Text, err = d.Text(v)
		case "annotations", "logprobs": // an answer's, which say nothing to the model
			err = d.Skip(v)
		case "image_url", "file_id", "file_data", "file_url", "input_audio":
			err = d.Up().Unsupported("parts with %s are not supported; send text, as %s", name, partInput)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
	case p.Type == "":
		err = d.Missing("type")
	case !hasText:
		err = d.Missing("text")
	case p.Type == "text":
		p.Type = partInput
	case p.Type == "refusal":
		p = newPart(partOutput, p.Text, nil)
	case p.Type == partOutput:
		p = newPart(partOutput, p.Text, nil)
	}
	return p, err
}
