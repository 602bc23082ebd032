package anthropic

import (
	"encoding/json"
	"strings"

	"dure/inference"
	"dure/inference/front/strict"
)

// separator joins the blocks of text of one message: each is a text of its own.
const separator = "\n"

func setSystem(d *strict.Decoder, r *request, v strict.Value) error {
	if v.Kind == strict.KindString {
		text, err := d.Text(v)
		r.system = text
		return err
	}
	var parts []string
	err := d.List(v, func(v strict.Value) error {
		b, err := readBlock(d, r, v)
		if err == nil && b.kind != "text" {
			err = d.Invalid("the type of a block must be text here, not %q", b.kind)
		}
		parts = append(parts, b.text)
		return err
	})
	r.system = strings.Join(parts, separator)
	return err
}

func setMessages(d *strict.Decoder, r *request, v strict.Value) error {
	err := d.List(v, func(v strict.Value) error { return r.addMessage(d, v) })
	if err == nil && len(r.messages) == 0 {
		err = d.Invalid("must hold at least one message")
	}
	if n := len(r.messages); err == nil && n > 0 {
		last := r.messages[n-1]
		// What the assistant is to have begun is gone on with; an answer that ends in
		// calls is not.
		r.goesOn = last.Role == inference.RoleAssistant && len(last.ToolCalls) == 0
	}
	return err
}

// addMessage reads one message, which may become several: each result of a tool is
// one of its own.
func (r *request) addMessage(d *strict.Decoder, v strict.Value) error {
	role := ""
	var blocks []block
	found := false
	err := d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		switch name {
		case "role":
			role, err = d.OneOf(v, []string{inference.RoleUser, inference.RoleAssistant, inference.RoleSystem})
		case "content":
			found = true
			blocks, err = r.content(d, v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case role == "":
		return d.Missing("role")
	case !found:
		return d.Missing("content")
	}
	if role == inference.RoleAssistant {
		return r.addAnswer(d, blocks)
	}
	return r.addTurn(d, role, blocks)
}

func (r *request) content(d *strict.Decoder, v strict.Value) (all []block, err error) {
	if v.Kind == strict.KindString {
		text, err := d.Text(v)
		return []block{{kind: "text", text: text}}, err
	}
	if v.Kind != strict.KindList {
		return nil, d.Expected("a string or a list of blocks", v)
	}
	err = d.List(v, func(v strict.Value) error {
		b, err := readBlock(d, r, v)
		all = append(all, b)
		return err
	})
	return all, err
}

// addAnswer adds what an assistant said.
func (r *request) addAnswer(d *strict.Decoder, blocks []block) error {
	m := inference.Message{Role: inference.RoleAssistant}
	var parts []string
	for _, b := range blocks {
		switch b.kind {
		case "text":
			parts = append(parts, b.text)
		case "thinking":
			m.Reasoning += b.text
		case "tool_use":
			m.ToolCalls = append(m.ToolCalls, b.call)
		default:
			return d.At("content").Invalid("an assistant's message has no blocks of the type %s", b.kind)
		}
	}
	m.Content = strings.Join(parts, separator)
	r.messages = append(r.messages, m)
	return nil
}

// addTurn adds what a user says, and what tools returned.
func (r *request) addTurn(d *strict.Decoder, role string, blocks []block) error {
	var parts []string
	say := func() {
		if parts != nil {
			r.messages = append(r.messages, inference.Message{Role: role, Content: strings.Join(parts, separator)})
			parts = nil
		}
	}
	for _, b := range blocks {
		switch b.kind {
		case "text":
			parts = append(parts, b.text)
		case "tool_result":
			say()
			r.messages = append(r.messages, inference.Message{Role: inference.RoleTool, ToolCallID: b.call.ID, Name: r.called(b.call.ID), Content: b.text})
		default:
			return d.At("content").Invalid("a message of the role %s has no blocks of the type %s", role, b.kind)
		}
	}
	if len(blocks) == 0 {
		return d.At("content").Invalid("must hold at least one block")
	}
	say()
	return nil
}

// called is the name of the tool that an earlier call is of; empty where there is none.
func (r *request) called(id string) string {
	for i := len(r.messages) - 1; i >= 0; i-- {
		for _, c := range r.messages[i].ToolCalls {
			if c.ID == id {
				return c.Name
			}
		}
	}
	return ""
}

// block is one block of content: its text is that of text, thinking, or the result of
// a tool.
type block struct {
	kind string
	text string
	call inference.ToolCall // of tool_use; of tool_result its ID
}

// refusedBlocks are kinds that are known and that models here cannot read.
var refusedBlocks = map[string]string{
	"image": "images", "document": "documents", "search_result": "search results", "redacted_thinking": "thinking that is hidden",
	"server_tool_use": "tools that Anthropic runs", "web_search_tool_result": "tools that Anthropic runs", "container_upload": "files", "mcp_tool_use": "tools that Anthropic runs", "mcp_tool_result": "tools that Anthropic runs",
}

// readBlock reads a block, whose members may come in any order.
func readBlock(d *strict.Decoder, r *request, v strict.Value) (b block, err error) {
	var text, thought *string
	var result *string
	input, failed := "", false
	err = d.Object(v, strict.MaxMembers, func(name string, v strict.Value) (err error) {
		if v.Kind == strict.KindNull {
			return nil
		}
		switch name {
		case "type":
			b.kind, err = d.Text(v)
			if what, refused := refusedBlocks[b.kind]; err == nil && refused {
				err = d.Up().Unsupported("%s are not supported; send blocks of the type text", what)
			}
		case "text":
			text, err = textOf(d, v)
		case "thinking":
			thought, err = textOf(d, v)
		case "signature":
			_, err = d.Text(v)
		case "id", "tool_use_id":
			b.call.ID, err = d.Text(v)
		case "name":
			b.call.Name, err = d.Text(v)
		case "input":
			input, err = inputOf(d, v)
		case "content":
			result, err = resultOf(d, r, v)
		case "is_error":
			failed, err = d.Boolean(v)
		case "citations":
			if !d.IsEmpty(v) {
				err = d.Unsupported("not supported; leave it out")
			}
		case "cache_control":
			err = setCacheControl(d, r, v)
		case "source", "data", "title", "context", "caller": // of refused kinds, which say more
			err = d.Skip(v)
		default:
			err = d.Unknown(v)
		}
		return err
	})
	if err != nil {
		return b, err
	}
	return b, b.settle(d, text, thought, result, input, failed)
}

// settle checks a block's members against its kind.
func (b *block) settle(d *strict.Decoder, text, thought, result *string, input string, failed bool) error {
	switch b.kind {
	case "":
		return d.Missing("type")
	case "text":
		if text == nil {
			return d.Missing("text")
		}
		b.text = *text
	case "thinking":
		if thought == nil {
			return d.Missing("thinking")
		}
		b.text = *thought
	case "tool_use":
		switch {
		case b.call.ID == "":
			return d.Missing("id")
		case b.call.Name == "":
			return d.Missing("name")
		case input == "":
			return d.Missing("input")
		}
		b.call.Arguments = input
	case "tool_result":
		if b.call.ID == "" {
			return d.Missing("tool_use_id")
		}
		if result != nil {
			b.text = *result
		}
		if failed {
			b.text = "Error: " + b.text // templates have no place for it
		}
	default:
		return d.At("type").Invalid("%q is not known; blocks are text, thinking, tool_use or tool_result", strict.Clip(b.kind))
	}
	return nil
}

func textOf(d *strict.Decoder, v strict.Value) (*string, error) {
	s, err := d.Text(v)
	return &s, err
}

func inputOf(d *strict.Decoder, v strict.Value) (string, error) {
	if v.Kind != strict.KindObject {
		return "", d.Expected("an object", v)
	}
	raw, err := d.Raw(v)
	if err != nil {
		return "", err
	}
	compact, err := json.Marshal(raw) // without the white space it came with
	return string(compact), err
}

// resultOf reads what a tool returned: a text, or blocks of text.
func resultOf(d *strict.Decoder, r *request, v strict.Value) (*string, error) {
	if v.Kind == strict.KindString {
		return textOf(d, v)
	}
	blocks, err := r.content(d, v)
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, b := range blocks {
		if b.kind != "text" {
			return nil, d.Invalid("the result of a tool has no blocks of the type %s", b.kind)
		}
		parts = append(parts, b.text)
	}
	return new(strings.Join(parts, separator)), nil
}
