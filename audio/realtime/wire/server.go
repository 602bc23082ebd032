package wire

import (
	"encoding/base64"
	"encoding/json"

	"dure/audio/turn"
)

// fields of a server event beside its id and type.
type fields map[string]any

// Event is one server event to be sent.
type Event struct {
	ID     string // event_id
	Notice turn.Notice
	Sound  []byte // of AudioDelta, in the session's output format
	Seq    int64  // of the duplex extension
	Epoch  int64
}

// Encode gives the JSON of an event. ok is false for what has no form on this wire: events
// that the API does not have, unless extended (some stock clients end at one that they do not
// know), and the end of the session, which is the end of the connection.
func Encode(e Event, s Session, extended bool) (message []byte, ok bool) {
	name, f := encodeNotice(e, s)
	if name == "" && extended {
		name, f = encodeExtension(e)
	}
	if name == "" {
		return nil, false
	}
	f["type"], f["event_id"] = name, e.ID
	if extended {
		f["server_event_seq"], f["epoch"] = e.Seq, e.Epoch
	}
	message, err := json.Marshal(f)
	return message, err == nil
}

func encodeNotice(e Event, s Session) (string, fields) {
	switch n := e.Notice.(type) {
	case turn.SessionCreated:
		s.Config = n.Config
		return "session.created", fields{"session": encodeSession(s)}
	case turn.SessionUpdated:
		s.Config = n.Config
		return "session.updated", fields{"session": encodeSession(s)}
	case turn.Failed:
		return "error", errorFields(&Error{Type: typeOf(n.Code), Code: n.Code, Message: n.Message, Param: n.Param, EventID: n.Event})
	}
	if name, f := encodeConversation(e.Notice); name != "" {
		return name, f
	}
	if name, f := encodeInput(e.Notice); name != "" {
		return name, f
	}
	return encodeResponseNotice(e)
}

func encodeConversation(n turn.Notice) (string, fields) {
	switch n := n.(type) {
	case turn.ItemAdded:
		return "conversation.item.added", fields{"previous_item_id": orNull(n.Previous), "item": encodeItem(n.Item)}
	case turn.ItemDone:
		return "conversation.item.done", fields{"previous_item_id": orNull(n.Previous), "item": encodeItem(n.Item)}
	case turn.ItemRetrieved:
		return "conversation.item.retrieved", fields{"item": encodeItem(n.Item)}
	case turn.ItemDeleted:
		return "conversation.item.deleted", fields{"item_id": n.Item}
	case turn.ItemTruncated:
		return "conversation.item.truncated", fields{"item_id": n.Item, "content_index": n.Part, "audio_end_ms": n.AudioEndMS}
	case turn.TranscriptDelta:
		return "conversation.item.input_audio_transcription.delta", fields{"item_id": n.Item, "content_index": n.Part, "delta": n.Text}
	case turn.TranscriptCompleted:
		return "conversation.item.input_audio_transcription.completed", fields{"item_id": n.Item, "content_index": n.Part, "transcript": n.Text,
			"usage": fields{"type": "duration", "seconds": n.Samples.Duration().Seconds()}}
	case turn.TranscriptFailed:
		return "conversation.item.input_audio_transcription.failed", fields{"item_id": n.Item, "content_index": n.Part,
			"error": fields{"type": "transcription_error", "code": n.Code, "message": n.Message, "param": nil}}
	}
	return "", nil
}

func encodeInput(n turn.Notice) (string, fields) {
	switch n := n.(type) {
	case turn.SpeechStarted:
		return "input_audio_buffer.speech_started", fields{"item_id": n.Item, "audio_start_ms": n.AudioStartMS}
	case turn.SpeechStopped:
		return "input_audio_buffer.speech_stopped", fields{"item_id": n.Item, "audio_end_ms": n.AudioEndMS}
	case turn.Committed:
		return "input_audio_buffer.committed", fields{"item_id": n.Item, "previous_item_id": orNull(n.Previous)}
	case turn.Cleared:
		return "input_audio_buffer.cleared", fields{}
	case turn.TimedOut:
		return "input_audio_buffer.timeout_triggered", fields{"item_id": n.Item, "audio_start_ms": n.AudioStartMS, "audio_end_ms": n.AudioEndMS}
	}
	return "", nil
}

func encodeResponseNotice(e Event) (string, fields) {
	switch n := e.Notice.(type) {
	case turn.ResponseCreated:
		return "response.created", fields{"response": encodeResponse(n.Response)}
	case turn.ResponseDone:
		return "response.done", fields{"response": encodeResponse(n.Response)}
	case turn.OutputItemAdded:
		return "response.output_item.added", fields{"response_id": n.Response, "output_index": n.Output, "item": encodeItem(n.Item)}
	case turn.OutputItemDone:
		return "response.output_item.done", fields{"response_id": n.Response, "output_index": n.Output, "item": encodeItem(n.Item)}
	case turn.PartAdded:
		return "response.content_part.added", at(n.At, "part", encodeContent(n.Part))
	case turn.PartDone:
		return "response.content_part.done", at(n.At, "part", encodeContent(n.Part))
	case turn.TextDelta:
		return "response.output_text.delta", at(n.At, "delta", n.Text)
	case turn.TextDone:
		return "response.output_text.done", at(n.At, "text", n.Text)
	case turn.AudioDelta:
		return "response.output_audio.delta", at(n.At, "delta", base64.StdEncoding.EncodeToString(e.Sound))
	case turn.AudioDone:
		return "response.output_audio.done", at(n.At, "", nil)
	case turn.AudioTranscript:
		return "response.output_audio_transcript.delta", at(n.At, "delta", n.Text)
	case turn.AudioTranscriptDone:
		return "response.output_audio_transcript.done", at(n.At, "transcript", n.Text)
	case turn.ArgumentsDelta:
		return "response.function_call_arguments.delta", fields{"response_id": n.At.Response, "item_id": n.At.Item, "output_index": n.At.Output,
			"call_id": n.CallID, "delta": n.Text}
	case turn.ArgumentsDone:
		return "response.function_call_arguments.done", fields{"response_id": n.At.Response, "item_id": n.At.Item, "output_index": n.At.Output,
			"call_id": n.CallID, "name": n.Name, "arguments": n.Arguments}
	}
	return "", nil
}

func encodeExtension(e Event) (string, fields) {
	switch n := e.Notice.(type) {
	case turn.Warning:
		return "dure.warning", fields{"code": n.Code, "message": n.Message}
	case turn.Screen:
		return "dure.screen", fields{"response_id": n.Response, "text": n.Text}
	case turn.EpochChanged:
		return "session.epoch_changed", fields{}
	case turn.OverlapDecided:
		return "overlap.decision", fields{"decision": n.Decision, "reason": n.Why}
	case turn.Acknowledged:
		return "playback.acknowledged", fields{"item_id": n.Item, "generated_ms": n.GeneratedMS, "sent_ms": n.SentMS, "played_ms": n.PlayedMS, "committed_ms": n.CommittedMS}
	case turn.Progress:
		return "dure.progress", fields{"response_id": n.Response, "text": n.Text}
	case turn.AnswerWaiting:
		return "dure.answer_waiting", fields{"response_id": n.Response}
	}
	return "", nil
}

// at places something in a response.
func at(a turn.At, name string, value any) fields {
	f := fields{"response_id": a.Response, "item_id": a.Item, "output_index": a.Output, "content_index": a.Part}
	if name != "" {
		f[name] = value
	}
	return f
}

// EncodeError gives the `error` event of e.
func EncodeError(e *Error, eventID string) []byte {
	f := errorFields(e)
	f["type"], f["event_id"] = "error", eventID
	message, _ := json.Marshal(f)
	return message
}

// EncodeOther gives an event that no notice stands for: conversation.created, and the
// extension's about the connection.
func EncodeOther(name, eventID string, more map[string]any) []byte {
	f := fields{"type": name, "event_id": eventID}
	for k, v := range more {
		f[k] = v
	}
	message, _ := json.Marshal(f)
	return message
}

func errorFields(e *Error) fields {
	return fields{"error": fields{"type": e.Type, "code": orNull(e.Code), "message": e.Message, "param": orNull(e.Param), "event_id": orNull(e.EventID)}}
}

// typeOf tells a client's faults from the server's.
func typeOf(code string) string {
	switch code {
	case "engine_lost", "server_error", "response_failed":
		return TypeServer
	case "rate_limit_exceeded":
		return TypeRateLimit
	}
	return TypeInvalid
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
