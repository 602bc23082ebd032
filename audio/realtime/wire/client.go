package wire

import (
	"bytes"
	"encoding/json"

	"dure/audio/turn"
	"dure/inference"
)

// Command is what a client event means: one of the types below.
type Command interface{ command() }

type (
	// Sound is input_audio_buffer.append: bytes in the session's input format.
	Sound struct {
		ID    string
		Bytes []byte
	}
	// Do is an event that the turn machine takes as it is.
	Do struct{ Event turn.Event }
	// Create is conversation.item.create; Sound holds the bytes of InputAudio parts by
	// their place.
	Create struct {
		Event turn.CreateItem
		Sound map[int][]byte
	}
	// Configure is session.update: the object to be merged (Session.Merge).
	Configure struct {
		ID      string
		Session json.RawMessage
	}
	// Heartbeat and Bye are of the duplex extension: session.heartbeat, session.close.
	Heartbeat struct{ ID string }
	Bye       struct{ ID string }
)

func (Sound) command()     {}
func (Do) command()        {}
func (Create) command()    {}
func (Configure) command() {}
func (Heartbeat) command() {}
func (Bye) command()       {}

// MostAppend is the most sound that one append may carry, in bytes, as in the API.
const MostAppend = 15 << 20

// decoders are the client events by type.
var decoders = map[string]func(id string, o object) Command{
	"session.update": func(id string, o object) Command {
		raw, ok := o.take("session")
		if !ok {
			o.r.fail(invalid(CodeMissing, "session", "missing"))
		}
		return Configure{id, raw}
	},
	"input_audio_buffer.append": appendSound,
	"input_audio_buffer.commit": func(id string, _ object) Command { return Do{turn.Commit{ID: id}} },
	"input_audio_buffer.clear":  func(id string, _ object) Command { return Do{turn.Clear{ID: id}} },
	"output_audio_buffer.clear": func(_ string, o object) Command {
		o.r.fail(invalid(CodeUnsupported, "type", "output_audio_buffer.clear is for WebRTC; over a WebSocket the client plays: send response.cancel and conversation.item.truncate"))
		return nil
	},
	"conversation.item.create": createItem,
	"conversation.item.retrieve": func(id string, o object) Command {
		return Do{turn.RetrieveItem{ID: id, Item: o.need("item_id")}}
	},
	"conversation.item.delete": func(id string, o object) Command {
		return Do{turn.DeleteItem{ID: id, Item: o.need("item_id")}}
	},
	"conversation.item.truncate": func(id string, o object) Command {
		return Do{turn.TruncateItem{ID: id, Item: o.need("item_id"),
			Part: int(o.needInteger("content_index", 0, 1<<16)), AudioEndMS: o.needInteger("audio_end_ms", 0, 1<<40)}}
	},
	"response.create": createResponse,
	"response.cancel": func(id string, o object) Command {
		response, _ := o.text("response_id")
		return Do{turn.CancelResponse{ID: id, Response: response}}
	},
}

// extension are those of `?duplex=1`.
var extension = map[string]func(id string, o object) Command{
	"playback.ack": func(id string, o object) Command {
		return Do{turn.Acknowledge{ID: id, Item: o.need("item_id"), PlayedMS: o.needInteger("played_ms", 0, 1<<40)}}
	},
	"session.heartbeat": func(id string, _ object) Command { return Heartbeat{id} },
	"session.close":     func(id string, _ object) Command { return Bye{id} },
}

// Decode reads one client event. The error is an *Error.
func Decode(message []byte, duplex bool) (Command, []Warning, error) {
	r := &reader{}
	message = bytes.TrimSpace(message)
	if !json.Valid(message) {
		return nil, nil, invalid(CodeJSON, "", "the message is no JSON")
	}
	o := r.object("", message)
	id, _ := o.text("event_id")
	name := o.need("type")
	c := r.decode(id, name, o, duplex)
	if r.err != nil {
		r.err.EventID = clip(id, 512)
		return nil, nil, r.err
	}
	return c, r.warnings, nil
}

func (r *reader) decode(id, name string, o object, duplex bool) Command {
	if r.err != nil {
		return nil
	}
	decode := decoders[name]
	if decode == nil && duplex {
		decode = extension[name]
	}
	if decode == nil {
		r.fail(invalid(CodeType, "type", "there is no client event %q", clip(name, 80)))
		return nil
	}
	c := decode(id, o)
	o.end()
	return c
}

func appendSound(id string, o object) Command {
	if raw := o.fields["audio"]; len(raw) > MostAppend/3*4+8 {
		o.r.fail(invalid(CodeTooLarge, "audio", "%d bytes of base64: an append may carry %d bytes of sound", len(raw), MostAppend))
		return nil
	}
	sound, ok := o.sound("audio")
	if !ok {
		o.r.fail(invalid(CodeMissing, "audio", "missing"))
	}
	if len(sound) > MostAppend {
		o.r.fail(invalid(CodeTooLarge, "audio", "%d bytes of sound, and %d are the most in one append", len(sound), MostAppend))
	}
	return Sound{id, sound}
}

func createItem(id string, o object) Command {
	after, _ := o.text("previous_item_id")
	item, ok := o.object("item")
	if !ok {
		o.r.fail(invalid(CodeMissing, "item", "missing"))
		return nil
	}
	it, sound := item.item()
	return Create{turn.CreateItem{ID: id, Item: it, After: after}, sound}
}

func createResponse(id string, o object) Command {
	p := turn.ResponseParams{}
	if r, ok := o.object("response"); ok {
		r.response(&p)
	}
	return Do{turn.CreateResponse{ID: id, Params: p}}
}

func (o object) response(p *turn.ResponseParams) {
	if text, ok := o.text("instructions"); ok {
		text = limited(o, "instructions", text)
		p.Instructions = &text
	}
	if _, ok := o.fields["output_modalities"]; ok {
		p.TextOnly = new(bool)
		o.textOnly(p.TextOnly)
	}
	p.HasTools = o.tools(&p.Tools)
	var choice *inference.ToolChoice
	if given := (inference.ToolChoice{}); o.choice(&given) {
		choice = &given
		p.Choice = choice
	}
	if several, ok := o.boolean("parallel_tool_calls"); ok {
		if choice == nil {
			o.r.warnings = append(o.r.warnings, Warning{o.path + "parallel_tool_calls", "without a tool_choice the session's is used"})
		} else {
			choice.Single = !several
		}
	}
	o.maxTokens(&p.MaxTokens)
	if where, ok := o.one("conversation", "auto", "none"); ok {
		p.OutOfBand = where == "none"
	}
	o.metadata(p)
	o.input(p)
	if a, ok := o.object("audio"); ok {
		if out, ok := a.object("output"); ok {
			out.voice(&p.Voice)
			out.unsupported("format", "the format of an answer is the session's")
			out.end()
		}
		a.end()
	}
	o.unsupported("prompt", "there are no stored prompts; put it into instructions")
	o.ignored("reasoning", "how much a model thinks is set in models.yaml")
	o.end()
}

func (o object) metadata(p *turn.ResponseParams) {
	m, ok := o.object("metadata")
	if !ok {
		return
	}
	if len(m.fields) > 16 {
		o.r.fail(invalid(CodeValue, o.path+"metadata", "%d pairs, and 16 are the most", len(m.fields)))
		return
	}
	p.Metadata = map[string]string{}
	for name := range m.fields {
		value, _ := m.text(name)
		if len(name) > 64 || len(value) > 512 {
			o.r.fail(invalid(CodeValue, o.path+"metadata", "keys have 64 characters and values 512 at most"))
			return
		}
		p.Metadata[name] = value
	}
}

// input reads what is answered instead of the conversation.
func (o object) input(p *turn.ResponseParams) {
	list, ok := o.list("input", mostItems)
	if !ok {
		return
	}
	p.HasInput = true
	for i, raw := range list {
		item := o.r.object(index(o.path+"input", i), raw)
		var kind string
		if json.Unmarshal(item.fields["type"], &kind) == nil && kind == "item_reference" {
			item.take("type")
			p.Input = append(p.Input, turn.Item{ID: item.need("id")})
			item.end()
			continue
		}
		it, sound := item.item()
		if len(sound) > 0 {
			o.r.fail(invalid(CodeUnsupported, item.path+"content", "sound goes into the conversation first (conversation.item.create), and is then named by its id"))
		}
		p.Input = append(p.Input, it)
	}
}
