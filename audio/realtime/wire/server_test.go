package wire

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dure/audio"
	"dure/audio/enginetest"
	"dure/audio/turn"
	"dure/inference"
)

var (
	place = turn.At{Response: "r", Item: "i", Output: 1, Part: 2}
	spoke = turn.Item{ID: "i", Kind: turn.Message, Role: turn.User, Status: turn.Completed, Parts: []turn.Part{{Kind: turn.InputAudio, From: 0, To: 2400}, {Kind: turn.InputText, Text: "안녕"}}}
	call  = turn.Item{ID: "c", Kind: turn.FunctionCall, Status: turn.InProgress, CallID: "c1", Name: "f", Arguments: "{}"}
	heard = turn.Item{ID: "a", Kind: turn.Message, Role: turn.Assistant, Status: turn.Incomplete, Parts: []turn.Part{{Kind: turn.OutputAudio, Text: "well"}}}
	ended = turn.Response{ID: "r", Status: turn.ResponseCancelled, Reason: turn.ReasonTurnDetected, Items: []turn.Item{heard, call},
		Metadata: map[string]string{"k": "v"}, Usage: inference.Usage{PromptTokens: 7, CompletionTokens: 3, CachedTokens: 5}}
)

// notices are one of each kind that a session tells, by the event that it must become.
var notices = map[string]Event{
	"session.created":                                       {Notice: turn.SessionCreated{Config: Default("m").Config}},
	"session.updated":                                       {Notice: turn.SessionUpdated{Config: full()}},
	"conversation.item.added":                               {Notice: turn.ItemAdded{Item: spoke}},
	"conversation.item.done":                                {Notice: turn.ItemDone{Previous: "p", Item: call}},
	"conversation.item.retrieved":                           {Notice: turn.ItemRetrieved{Item: heard}},
	"conversation.item.deleted":                             {Notice: turn.ItemDeleted{Item: "i"}},
	"conversation.item.truncated":                           {Notice: turn.ItemTruncated{Item: "i", AudioEndMS: 133}},
	"error":                                                 {Notice: turn.Failed{Event: "e", Code: "item_not_found", Message: "no", Param: "item_id"}},
	"input_audio_buffer.speech_started":                     {Notice: turn.SpeechStarted{Item: "i", AudioStartMS: 10}},
	"input_audio_buffer.speech_stopped":                     {Notice: turn.SpeechStopped{Item: "i", AudioEndMS: 20}},
	"input_audio_buffer.committed":                          {Notice: turn.Committed{Item: "i"}},
	"input_audio_buffer.cleared":                            {Notice: turn.Cleared{}},
	"input_audio_buffer.timeout_triggered":                  {Notice: turn.TimedOut{Item: "i", AudioEndMS: 5}},
	"conversation.item.input_audio_transcription.delta":     {Notice: turn.TranscriptDelta{Item: "i", Text: "안"}},
	"conversation.item.input_audio_transcription.completed": {Notice: turn.TranscriptCompleted{Item: "i", Text: "안녕", Samples: 36000}},
	"conversation.item.input_audio_transcription.failed":    {Notice: turn.TranscriptFailed{Item: "i", Code: "engine_lost", Message: "gone"}},
	"response.created":                                      {Notice: turn.ResponseCreated{Response: turn.Response{ID: "r", Status: turn.ResponseInProgress, OutOfBand: true, TextOnly: true}}},
	"response.done":                                         {Notice: turn.ResponseDone{Response: ended}},
	"response.output_item.added":                            {Notice: turn.OutputItemAdded{Response: "r", Item: call}},
	"response.output_item.done":                             {Notice: turn.OutputItemDone{Response: "r", Item: heard}},
	"response.content_part.added":                           {Notice: turn.PartAdded{At: place, Part: turn.Part{Kind: turn.OutputAudio}}},
	"response.content_part.done":                            {Notice: turn.PartDone{At: place, Part: turn.Part{Kind: turn.OutputText, Text: "x"}}},
	"response.output_text.delta":                            {Notice: turn.TextDelta{At: place, Text: "x"}},
	"response.output_text.done":                             {Notice: turn.TextDone{At: place, Text: "x"}},
	"response.output_audio.delta":                           {Notice: turn.AudioDelta{At: place}, Sound: []byte{1, 2}},
	"response.output_audio.done":                            {Notice: turn.AudioDone{At: place}},
	"response.output_audio_transcript.delta":                {Notice: turn.AudioTranscript{At: place, Text: "x"}},
	"response.output_audio_transcript.done":                 {Notice: turn.AudioTranscriptDone{At: place, Text: "x"}},
	"response.function_call_arguments.delta":                {Notice: turn.ArgumentsDelta{At: place, CallID: "c", Text: "{"}},
	"response.function_call_arguments.done":                 {Notice: turn.ArgumentsDone{At: place, CallID: "c", Name: "f", Arguments: "{}"}},
}

var extensions = map[string]Event{
	"dure.warning":          {Notice: turn.Warning{Code: "degraded", Message: "late"}},
	"dure.screen":           {Notice: turn.Screen{Response: "r", Text: "long"}},
	"dure.progress":         {Notice: turn.Progress{Response: "r", Text: "half"}},
	"dure.answer_waiting":   {Notice: turn.AnswerWaiting{Response: "r"}},
	"session.epoch_changed": {Notice: turn.EpochChanged{Epoch: 3}, Epoch: 3},
	"overlap.decision":      {Notice: turn.OverlapDecided{Decision: "keep", Why: "backchannel"}},
	"playback.acknowledged": {Notice: turn.Acknowledged{Item: "i", SentMS: 40}},
}

func full() turn.Config {
	c := Default("m").Config
	c.Tools = []inference.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}}
	c.Choice = inference.ToolChoice{Mode: inference.ToolRequired, Name: "f", Single: true}
	c.Transcription = &turn.Transcription{Language: "ko"}
	c.Detection = turn.Detection{Mode: turn.SemanticVAD, Eagerness: turn.EagerLow}
	c.Input, c.Output, c.MaxTokens, c.Voice = audio.ULaw, audio.ALaw, 9, "v"
	return c
}

func TestEncodeNames(t *testing.T) {
	s := Default("m")
	for _, set := range []map[string]Event{notices, extensions} {
		for name, e := range set {
			e.ID = "event_1"
			message, ok := Encode(e, s, true)
			var got struct {
				Type string `json:"type"`
				ID   string `json:"event_id"`
			}
			if err := json.Unmarshal(message, &got); !ok || err != nil || got.Type != name || got.ID != "event_1" {
				t.Errorf("%s: %v %v %s", name, ok, err, message)
			}
		}
	}
	if _, ok := Encode(Event{Notice: turn.EpochChanged{}}, s, false); ok {
		t.Error("an event of the extension on the plain wire")
	}
	if _, ok := Encode(Event{Notice: turn.Warning{}}, s, false); ok {
		t.Error("an event that stock clients end at")
	}
	if _, ok := Encode(Event{Notice: turn.Closed{}}, s, true); ok {
		t.Error("the end of a session is the end of the connection, and no event")
	}
}

// TestStockTypes has the server events read by the models of OpenAI's own Python client,
// strictly: every field of ours is one of theirs, of its kind, and none that they need is
// missing.
func TestStockTypes(t *testing.T) {
	client := filepath.Join(enginetest.Home(t), "clients", "python")
	if _, err := os.Stat(filepath.Join(client, "openai")); err != nil {
		t.Skip("SKIPPED: the stock Python client is not there; make clients fetches it")
	}
	var lines bytes.Buffer
	s := Default("m")
	s.ID = "sess_1"
	for name, e := range notices {
		e.ID = "event_" + name
		message, _ := Encode(e, s, false)
		lines.Write(append(message, '\n'))
	}
	cmd := exec.Command("python3", "testdata/stock_types.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+client)
	cmd.Stdin = &lines
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, want := strings.Count(string(out), "ok "), len(notices); got != want {
		t.Fatalf("%d events were read, not %d:\n%s", got, want, out)
	}
}
