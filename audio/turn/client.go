package turn

import (
	"fmt"
	"slices"

	"dure/audio"
)

func (st *step) update(e Update) {
	c := e.Config
	switch {
	case !c.Input.Valid() || !c.Output.Valid():
		st.refuse(e.ID, "invalid_value", fmt.Sprintf("unknown audio format %q or %q", c.Input, c.Output), "session.audio")
		return
	case st.voiced && c.Voice != st.config.Voice:
		st.refuse(e.ID, "cannot_update_voice", "the voice cannot be changed once the session has spoken", "session.audio.output.voice")
		return
	case c.TranscriptionOnly != st.config.TranscriptionOnly:
		st.refuse(e.ID, "invalid_value", "the type of a session cannot be changed", "session.type")
		return
	}
	before := st.config.Detection.Mode
	st.config = c
	if c.Detection.Mode == Manual && before != Manual {
		// The sound stays in the buffer; the client commits it from here on.
		st.dropSpeech()
	}
	if before == Manual && c.Detection.Mode != Manual {
		st.in.heardTo = st.in.end
	}
	if c.Detection.Mode != ServerVAD || c.Detection.IdleTimeout == 0 {
		st.idleAt = 0
	}
	st.emit(SessionUpdated{c})
}

func (st *step) createItem(e CreateItem) {
	it := e.Item
	if code, message, param := checkItem(&it); code != "" {
		st.refuse(e.ID, code, message, param)
		return
	}
	if it.ID == "" {
		it.ID = st.newID("item")
	} else if _, known := st.item(it.ID); known != nil || it.ID == st.in.speech || len(it.ID) > 64 {
		st.refuse(e.ID, "invalid_value", fmt.Sprintf("the item id %q is in use already, or too long", it.ID), "item.id")
		return
	}
	at := len(st.items)
	switch e.After {
	case "":
	case "root":
		at = 0
	default:
		i, known := st.item(e.After)
		if known == nil {
			st.refuse(e.ID, "item_not_found", fmt.Sprintf("there is no item %q", e.After), "previous_item_id")
			return
		}
		at = i + 1
	}
	it.Status = Completed
	it.Parts = slices.Clone(it.Parts)
	st.insert(at, &it)
	for _, p := range it.Parts {
		if p.Kind == InputAudio && !p.Transcribed && p.To > p.From {
			st.listen(listen{item: it.ID, from: p.From})
			st.do(FinishListening{it.ID, p.To})
			break
		}
	}
}

// checkItem says what is wrong with an item of a client, "" if nothing is.
func checkItem(it *Item) (code, message, param string) {
	want := map[string][]PartKind{User: {InputText, InputAudio}, System: {InputText}, Assistant: {OutputText, OutputAudio}}
	switch it.Kind {
	case Message:
		kinds, ok := want[it.Role]
		if !ok {
			return "invalid_value", fmt.Sprintf("a message has the role user, assistant or system, not %q", it.Role), "item.role"
		}
		sounds := 0
		for i, p := range it.Parts {
			if !slices.Contains(kinds, p.Kind) {
				return "invalid_value", fmt.Sprintf("a message of the role %s holds no %q", it.Role, p.Kind), fmt.Sprintf("item.content[%d].type", i)
			}
			if p.Kind == InputAudio {
				sounds++
			}
		}
		if sounds > 1 {
			return "invalid_value", "a message holds one piece of sound at most", "item.content"
		}
		if len(it.Parts) == 0 {
			return "missing_required_parameter", "a message needs content", "item.content"
		}
	case FunctionCall:
		if it.Name == "" || it.CallID == "" {
			return "missing_required_parameter", "a function call needs a name and a call_id", "item.name"
		}
	case FunctionOutput:
		if it.CallID == "" {
			return "missing_required_parameter", "a function's output needs the call_id of its call", "item.call_id"
		}
	default:
		return "invalid_value", fmt.Sprintf("unknown kind of item %q", it.Kind), "item.type"
	}
	return "", "", ""
}

// insert puts a complete item into the conversation. Where there are too many, the oldest
// that is not under way goes.
func (st *step) insert(at int, it *Item) {
	st.items = slices.Insert(slices.Clone(st.items), at, it)
	prev := st.previous(at)
	st.emit(ItemAdded{prev, *it})
	st.emit(ItemDone{prev, *it})
	if most := st.rules.MostItems; most > 0 && len(st.items) > most {
		i := slices.IndexFunc(st.items, func(x *Item) bool { return x.Status != InProgress && x.ID != it.ID && st.listenOf(x.ID) == nil })
		if i >= 0 {
			st.remove(i)
		}
	}
}

func (st *step) remove(i int) {
	id := st.items[i].ID
	st.items = slices.Delete(slices.Clone(st.items), i, i+1)
	if st.listenOf(id) != nil {
		st.stopListen(id)
		st.do(StopListening{id})
	}
	st.emit(ItemDeleted{id})
}

func (st *step) retrieveItem(e RetrieveItem) {
	_, it := st.item(e.Item)
	if it == nil {
		st.refuse(e.ID, "item_not_found", fmt.Sprintf("there is no item %q", e.Item), "item_id")
		return
	}
	st.emit(ItemRetrieved{*it})
}

func (st *step) deleteItem(e DeleteItem) {
	i, it := st.item(e.Item)
	switch {
	case it == nil:
		st.refuse(e.ID, "item_not_found", fmt.Sprintf("there is no item %q", e.Item), "item_id")
	case it.Status == InProgress:
		st.refuse(e.ID, "item_in_progress", fmt.Sprintf("the item %q is being written; cancel its response first", e.Item), "item_id")
	default:
		st.remove(i)
		st.ask() // a transcript may have been awaited that does not matter any more
	}
}

func (st *step) truncateItem(e TruncateItem) {
	_, it := st.item(e.Item)
	switch {
	case it == nil:
		st.refuse(e.ID, "item_not_found", fmt.Sprintf("there is no item %q", e.Item), "item_id")
		return
	case it.Kind != Message || it.Role != Assistant:
		st.refuse(e.ID, "invalid_value", "only an assistant's message can be truncated", "item_id")
		return
	case e.Part < 0 || e.Part >= len(it.Parts) || it.Parts[e.Part].Kind != OutputAudio:
		st.refuse(e.ID, "invalid_value", "only sound can be truncated: there is none at this content_index", "content_index")
		return
	case e.AudioEndMS < 0:
		st.refuse(e.ID, "invalid_value", "audio_end_ms is negative", "audio_end_ms")
		return
	}
	// Clients say that they stopped playing by truncating; what is still being spoken
	// stops, too.
	for _, r := range st.live {
		if r.msg >= 0 && r.outs[r.msg].ID == e.Item {
			st.cut(r.ID, ReasonClient)
			break
		}
	}
	_, it = st.item(e.Item)
	next := *it
	next.Parts = slices.Clone(it.Parts)
	// More than was sent nobody can have heard: stock clients count a little further
	// than they played, so that is no error.
	next.Parts[e.Part] = next.cutTo(next.Parts[e.Part], audio.FromMilliseconds(e.AudioEndMS))
	st.setItem(&next)
	st.emit(ItemTruncated{e.Item, e.Part, min(e.AudioEndMS, max(0, it.sent.Milliseconds()))})
}

func (st *step) createResponse(e CreateResponse) {
	p := e.Params
	switch {
	case st.config.TranscriptionOnly:
		st.refuse(e.ID, "invalid_value", "a transcription session does not answer", "")
		return
	case !p.OutOfBand && st.active() != nil:
		st.refuse(e.ID, "conversation_already_has_active_response", fmt.Sprintf("the response %s is still in progress; wait for response.done, or cancel it", st.active().ID), "")
		return
	case p.OutOfBand && len(st.live) >= mostLive:
		st.refuse(e.ID, "rate_limit_exceeded", "too many responses are in progress", "")
		return
	case !p.OutOfBand && p.Voice != "" && st.voiced && p.Voice != st.config.Voice:
		st.refuse(e.ID, "cannot_update_voice", "the voice cannot be changed once the session has spoken", "response.audio.output.voice")
		return
	}
	for i := range p.Input {
		if p.Input[i].Kind != "" {
			continue
		}
		if _, known := st.item(p.Input[i].ID); known == nil {
			st.refuse(e.ID, "item_not_found", fmt.Sprintf("there is no item %q", p.Input[i].ID), fmt.Sprintf("response.input[%d].id", i))
			return
		}
	}
	if !p.OutOfBand {
		st.queued = nil // this is the answer that the turn waited for
	}
	st.begin(p, "")
	st.ask()
}

// mostLive bounds responses in progress, those out of band included.
const mostLive = 8

func (st *step) cancelResponse(e CancelResponse) {
	r := st.active()
	if e.Response != "" {
		r = st.find(e.Response)
	}
	if r == nil {
		st.refuse(e.ID, "response_cancel_not_active", "there is no such response in progress", "response_id")
		return
	}
	if r.msg >= 0 && !r.OutOfBand {
		st.interrupted = r.outs[r.msg].ID
	}
	st.cut(r.ID, ReasonClient)
}

func (st *step) acknowledge(e Acknowledge) {
	if e.PlayedMS < 0 {
		st.refuse(e.ID, "invalid_value", "played_ms is negative", "played_ms")
		return
	}
	for _, r := range st.live {
		if r.msg < 0 || r.outs[r.msg].ID != e.Item {
			continue
		}
		r = st.edit(r.ID)
		r.played = max(r.played, min(audio.FromMilliseconds(e.PlayedMS), r.sent))
		st.emit(Acknowledged{e.Item, r.generated.Milliseconds(), r.sent.Milliseconds(), r.played.Milliseconds(), r.played.Milliseconds()})
		return
	}
	_, it := st.item(e.Item)
	if it == nil || it.said == nil {
		st.refuse(e.ID, "item_not_found", fmt.Sprintf("there is no spoken item %q", e.Item), "item_id")
		return
	}
	sent := it.sent.Milliseconds()
	st.emit(Acknowledged{e.Item, sent, sent, min(e.PlayedMS, sent), it.Parts[0].Samples.Milliseconds()})
}
