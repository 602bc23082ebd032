package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"dure/audio"
	"dure/audio/turn"
	"dure/inference"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func text(s string) *string { return &s }

func TestDecode(t *testing.T) {
	yes := true
	for message, want := range map[string]Command{
		`{"type":"input_audio_buffer.append","event_id":"e1","audio":"AAEC"}`:                      Sound{"e1", []byte{0, 1, 2}},
		`{"type":"input_audio_buffer.commit"}`:                                                     Do{turn.Commit{}},
		`{"type":"input_audio_buffer.clear","event_id":null}`:                                      Do{turn.Clear{}},
		`{"type":"conversation.item.retrieve","item_id":"i"}`:                                      Do{turn.RetrieveItem{Item: "i"}},
		`{"type":"conversation.item.delete","item_id":"i","event_id":"x"}`:                         Do{turn.DeleteItem{ID: "x", Item: "i"}},
		`{"type":"conversation.item.truncate","item_id":"i","content_index":0,"audio_end_ms":133}`: Do{turn.TruncateItem{Item: "i", AudioEndMS: 133}},
		`{"type":"response.cancel","response_id":"r"}`:                                             Do{turn.CancelResponse{Response: "r"}},
		`{"type":"response.create"}`:                                                               Do{turn.CreateResponse{}},
		`{"type":"session.update","event_id":"s","session":{"type":"realtime"}}`:                   Configure{"s", json.RawMessage(`{"type":"realtime"}`)},
		`{"type":"playback.ack","item_id":"i","played_ms":40}`:                                     Do{turn.Acknowledge{Item: "i", PlayedMS: 40}},
		`{"type":"session.heartbeat"}`:                                                             Heartbeat{},
		`{"type":"session.close","event_id":"b"}`:                                                  Bye{"b"},
		`{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"c","output":"4"}}`: Create{Event: turn.CreateItem{
			Item: turn.Item{Kind: turn.FunctionOutput, Status: turn.Completed, CallID: "c", Output: "4"}}},
		`{"type":"conversation.item.create","previous_item_id":"root","item":{"id":"u","type":"message","role":"user","content":[
			{"type":"input_text","text":"hi"},{"type":"input_audio","audio":"AAA="}]}}`: Create{
			Event: turn.CreateItem{After: "root", Item: turn.Item{ID: "u", Kind: turn.Message, Status: turn.Completed, Role: turn.User,
				Parts: []turn.Part{{Kind: turn.InputText, Text: "hi"}, {Kind: turn.InputAudio}}}},
			Sound: map[int][]byte{1: {0, 0}}},
		`{"type":"response.create","response":{"conversation":"none","output_modalities":["text"],"instructions":"x","metadata":{"a":"b"},
			"max_output_tokens":5,"tool_choice":"required","parallel_tool_calls":false,"input":[{"type":"item_reference","id":"i"}],
			"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}}`: Do{turn.CreateResponse{Params: turn.ResponseParams{
			OutOfBand: true, TextOnly: &yes, Instructions: text("x"), Metadata: map[string]string{"a": "b"}, MaxTokens: 5,
			Choice: &inference.ToolChoice{Mode: inference.ToolRequired, Single: true}, HasInput: true, Input: []turn.Item{{ID: "i"}},
			HasTools: true, Tools: []inference.Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)}}}}},
	} {
		got, warnings, err := Decode([]byte(message), true)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", message, err, warnings)
			continue
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(turn.Item{})); d != "" {
			t.Errorf("%s:\n%s", message, d)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	big := base64.StdEncoding.EncodeToString(make([]byte, MostAppend+3))
	for message, want := range map[string]string{
		`{`:                                    "invalid_json ",
		`[1]`:                                  "invalid_type ",
		`{}`:                                   "missing_required_parameter type",
		`{"type":7}`:                           "invalid_type type",
		`{"type":"response.make"}`:             "unknown_event_type type",
		`{"type":"playback.ack"}`:              "unknown_event_type type", // without the extension
		`{"type":"output_audio_buffer.clear"}`: "unsupported type",
		`{"type":"input_audio_buffer.append"}`: "missing_required_parameter audio",
		`{"type":"input_audio_buffer.append","audio":"!"}`:                                                                 "invalid_value audio",
		`{"type":"input_audio_buffer.append","audio":"` + big + `"}`:                                                       "message_too_large audio",
		`{"type":"input_audio_buffer.commit","more":1}`:                                                                    "unknown_parameter more",
		`{"type":"conversation.item.truncate","item_id":"i","content_index":0.5,"audio_end_ms":1}`:                         "invalid_type content_index",
		`{"type":"conversation.item.truncate","item_id":"i","content_index":0,"audio_end_ms":-1}`:                          "invalid_value audio_end_ms",
		`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_image"}]}}`:   "unsupported item.content[0].type",
		`{"type":"conversation.item.create","item":{"type":"message","role":"system","content":[{"type":"input_audio"}]}}`: "invalid_value item.content[0].type",
		`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[null]}}`:                     "missing_required_parameter item.content[0].type",
		`{"type":"conversation.item.create","item":{"type":"mcp_call"}}`:                                                   "unsupported item.type",
		`{"type":"conversation.item.create"}`:                                                                              "missing_required_parameter item",
		`{"type":"response.create","response":{"output_modalities":["text","audio"]}}`:                                     "invalid_value response.output_modalities",
		`{"type":"response.create","response":{"tools":[{"type":"mcp"}]}}`:                                                 "unsupported response.tools[0].type",
		`{"type":"response.create","response":{"tools":[{"type":"function","name":"a"},{"type":"function","name":"a"}]}}`:  "invalid_value response.tools[1].name",
		`{"type":"response.create","response":{"audio":{"output":{"format":{"type":"audio/pcm"}}}}}`:                       "unsupported response.audio.output.format",
		`{"type":"session.update"}`: "missing_required_parameter session",
	} {
		_, _, err := Decode([]byte(message), false)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.120s: %v", message, err)
		} else if got := e.Code + " " + e.Param; got != want {
			t.Errorf("%.120s: %q, not %q (%v)", message, got, want, err)
		}
	}
}

func TestErrorNamesItsEvent(t *testing.T) {
	_, _, err := Decode([]byte(`{"type":"x","event_id":"mine"}`), false)
	var e *Error
	if !errors.As(err, &e) || e.EventID != "mine" {
		t.Fatal(err)
	}
}

// What a stock client sends first: every field, and null for what is off.
func TestMerge(t *testing.T) {
	full := `{"type":"realtime","id":"sess_1","object":"realtime.session","model":"m","instructions":"be brief","output_modalities":["audio"],
		"max_output_tokens":"inf","tools":[],"tool_choice":{"type":"function","name":"f"},"tracing":null,"prompt":null,"include":null,
		"audio":{"input":{"format":{"type":"audio/pcmu"},"noise_reduction":null,"transcription":{"model":"whisper-1"},
			"turn_detection":{"type":"semantic_vad","eagerness":"low","interrupt_response":false}},
			"output":{"format":{"type":"audio/pcm","rate":24000},"voice":{"id":"v"},"speed":1.25}}}`
	s, warnings, err := Default("d").Merge(json.RawMessage(full))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	detection := turn.DefaultDetection()
	detection.Mode, detection.Eagerness, detection.InterruptResponse = turn.SemanticVAD, turn.EagerLow, false
	want := turn.Config{Model: "m", Instructions: "be brief", Input: audio.ULaw, Output: audio.PCM16, Detection: detection, Voice: "v", Speed: 1.25,
		Transcription: &turn.Transcription{Model: "whisper-1"}, Tools: []inference.Tool{}, Choice: inference.ToolChoice{Mode: inference.ToolRequired, Name: "f"}}
	if d := cmp.Diff(want, s.Config); d != "" {
		t.Error(d)
	}

	// A second update changes what it names and nothing else.
	s, _, err = s.Merge(json.RawMessage(`{"type":"realtime","audio":{"input":{"turn_detection":{"type":"server_vad","silence_duration_ms":200,"idle_timeout_ms":5000},"transcription":null}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want.Detection = turn.DefaultDetection()
	want.Detection.Silence, want.Detection.IdleTimeout, want.Transcription = 4800, 5*time.Second, nil
	if d := cmp.Diff(want, s.Config); d != "" {
		t.Error(d)
	}
	s, _, err = s.Merge(json.RawMessage(`{"type":"realtime","audio":{"input":{"turn_detection":null}}}`))
	if err != nil || s.Config.Detection.Mode != turn.Manual {
		t.Error(err, s.Config.Detection)
	}

	for patch, param := range map[string]string{
		`{}`:                                  "session.type",
		`{"type":"realtime","voice":"alloy"}`: "session.voice", // the beta API's place
		`{"type":"realtime","audio":{"output":{"speed":3}}}`:                                               "session.audio.output.speed",
		`{"type":"realtime","audio":{"input":{"format":{"type":"audio/pcm","rate":16000}}}}`:               "session.audio.input.format.rate",
		`{"type":"realtime","audio":{"input":{"format":{"type":"audio/opus"}}}}`:                           "session.audio.input.format.type",
		`{"type":"realtime","audio":{"input":{"turn_detection":{"type":"semantic_vad","threshold":0.5}}}}`: "session.audio.input.turn_detection.threshold",
		`{"type":"realtime","max_output_tokens":"lots"}`:                                                   "session.max_output_tokens",
		`{"type":"realtime","prompt":{"id":"p"}}`:                                                          "session.prompt",
		`{"type":"realtime","instructions":"` + strings.Repeat("x", mostText+1) + `"}`:                     "session.instructions",
	} {
		_, _, err := Default("d").Merge(json.RawMessage(patch))
		var e *Error
		if !errors.As(err, &e) || e.Param != param {
			t.Errorf("%.100s: %v", patch, err)
		}
	}
	_, warnings, err = Default("d").Merge(json.RawMessage(`{"type":"realtime","tracing":"auto","truncation":{"type":"retention_ratio","retention_ratio":0.8},"audio":{"input":{"noise_reduction":{"type":"near_field"}}}}`))
	if err != nil || len(warnings) != 3 {
		t.Error(err, warnings)
	}
}

// A client may send back the session as it got it.
func TestSessionComesBack(t *testing.T) {
	s := Default("m")
	s.ID = "sess_1"
	again, warnings, err := Default("other").Merge(s.JSON())
	again.ID = s.ID
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if d := cmp.Diff(encode(t, s), encode(t, again)); d != "" {
		t.Error(d)
	}
}

func encode(t *testing.T, s Session) string {
	t.Helper()
	return string(s.JSON())
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":null}}}}`))
	f.Add([]byte(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AA=="}]}}`))
	f.Add([]byte(`{"type":"response.create","response":{"input":[null,{"type":"item_reference","id":""}],"metadata":{"a":1}}}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		c, _, err := Decode(message, true)
		if (c == nil) == (err == nil) {
			t.Fatalf("%v %v", c, err)
		}
		if u, ok := c.(Configure); ok {
			if s, _, err := Default("m").Merge(u.Session); err == nil && !json.Valid(s.JSON()) {
				t.Fatal("a session that is no JSON")
			}
		}
		if c, ok := c.(Create); ok {
			if _, err := json.Marshal(encodeItem(c.Event.Item)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
