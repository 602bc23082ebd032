package wire

import (
	"encoding/json"
	"fmt"
	"slices"

	"dure/audio/turn"
)

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// item reads a conversation item. Sound of its parts is given apart, by part.
func (o object) item() (item turn.Item, sound map[int][]byte) {
	item.ID, _ = o.text("id")
	if len(item.ID) > 64 {
		o.r.fail(invalid(CodeValue, o.path+"id", "%d characters, and 64 are the most", len(item.ID)))
	}
	if s, ok := o.one("object", "realtime.item"); !ok && s != "" {
		return item, nil
	}
	o.one("status", string(turn.Completed), string(turn.Incomplete), string(turn.InProgress))
	item.Status = turn.Completed
	switch kind := o.need("type"); turn.Kind(kind) {
	case turn.Message:
		item.Kind = turn.Message
		sound = o.message(&item)
	case turn.FunctionCall:
		item.Kind = turn.FunctionCall
		item.Name, item.Arguments = o.need("name"), limited(o, "arguments", o.need("arguments"))
		item.CallID, _ = o.text("call_id")
	case turn.FunctionOutput:
		item.Kind = turn.FunctionOutput
		item.CallID, item.Output = o.need("call_id"), limited(o, "output", o.need("output"))
	default:
		if o.r.err == nil {
			o.r.fail(invalid(CodeUnsupported, o.path+"type", "items of type %q are not supported", clip(kind, 40)))
		}
	}
	o.end()
	return item, sound
}

func (o object) message(item *turn.Item) map[int][]byte {
	role, ok := o.one("role", turn.User, turn.Assistant, turn.System)
	if !ok {
		o.r.fail(invalid(CodeMissing, o.path+"role", "missing"))
		return nil
	}
	item.Role = role
	list, ok := o.list("content", 256)
	if !ok {
		o.r.fail(invalid(CodeMissing, o.path+"content", "missing"))
		return nil
	}
	var sound map[int][]byte
	for i, raw := range list {
		p := o.r.object(index(o.path+"content", i), raw)
		part, bytes := p.part(role)
		p.end()
		if bytes != nil {
			if sound == nil {
				sound = map[int][]byte{}
			}
			sound[i] = bytes
		}
		item.Parts = append(item.Parts, part)
	}
	return sound
}

// contents are the kinds of parts that a message of each role may have.
var contents = map[string][]string{
	turn.User:      {"input_text", "input_audio"},
	turn.System:    {"input_text"},
	turn.Assistant: {"output_text", "output_audio"},
}

// part reads one part of a message: text of anybody, sound of the user. Sound of the
// assistant that a client gives counts by its transcript.
func (o object) part(role string) (p turn.Part, sound []byte) {
	kind := o.need("type")
	switch {
	case o.r.err != nil:
		return p, nil
	case kind == "input_image":
		o.r.fail(invalid(CodeUnsupported, o.path+"type", "images are not supported here"))
		return p, nil
	case !slices.Contains(contents[role], kind):
		o.r.fail(invalid(CodeValue, o.path+"type", "%q is no content of a message of the %s", clip(kind, 40), role))
		return p, nil
	}
	p.Kind = turn.PartKind(kind)
	switch p.Kind {
	case turn.InputText, turn.OutputText:
		p.Text = limited(o, "text", o.need("text"))
	case turn.OutputAudio:
		p.Text, _ = o.text("transcript")
		p.Kind = turn.OutputText
		o.ignored("audio", "of an answer that a client gives, the transcript counts")
	case turn.InputAudio:
		p.Text, p.Transcribed = o.text("transcript")
		var ok bool
		if sound, ok = o.sound("audio"); !ok && o.r.err == nil && !p.Transcribed {
			o.r.fail(invalid(CodeMissing, o.path+"audio", "missing"))
		}
	}
	return p, sound
}

type wireItem struct {
	ID        string  `json:"id"`
	Object    string  `json:"object"`
	Type      string  `json:"type"`
	Status    string  `json:"status,omitempty"`
	Role      string  `json:"role,omitempty"`
	Content   *[]any  `json:"content,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Output    *string `json:"output,omitempty"`
	// Unverified is ours: what a speech model claimed while the lead agent still worked.
	Unverified bool `json:"dure_unverified,omitempty"`
}

func encodeItem(i turn.Item) wireItem {
	w := wireItem{ID: i.ID, Object: "realtime.item", Type: string(i.Kind), Status: string(i.Status), Role: i.Role, CallID: i.CallID, Name: i.Name, Unverified: i.Unverified}
	switch i.Kind {
	case turn.Message:
		content := make([]any, len(i.Parts))
		for k, p := range i.Parts {
			content[k] = encodePart(p)
		}
		w.Content = &content
	case turn.FunctionCall:
		w.Arguments = &i.Arguments
	case turn.FunctionOutput:
		w.Output = &i.Output
	}
	return w
}

func encodeItems(items []turn.Item) []wireItem {
	out := make([]wireItem, len(items))
	for k, i := range items {
		out[k] = encodeItem(i)
	}
	return out
}

// encodePart leaves sound out: events carry it while it is made.
func encodePart(p turn.Part) any {
	switch p.Kind {
	case turn.InputAudio:
		var transcript *string
		if p.Transcribed {
			transcript = &p.Text
		}
		return struct {
			Type       string  `json:"type"`
			Transcript *string `json:"transcript"`
		}{string(p.Kind), transcript}
	case turn.OutputAudio:
		return struct {
			Type       string `json:"type"`
			Transcript string `json:"transcript"`
		}{string(p.Kind), p.Text}
	}
	return struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{string(p.Kind), p.Text}
}

// schema of a tool as clients gave it, {} where there was none.
func schema(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}
