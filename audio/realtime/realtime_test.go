package realtime

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"dure/audio"
	"dure/audio/realtime/wire"

	"github.com/gorilla/websocket"
)

var invalidKey = &wire.Error{Type: wire.TypeInvalid, Code: "invalid_api_key", Message: "no such key"}

// speech is an append of so many milliseconds of a tone, or with loud 0 of silence.
func speech(ms int, loud float32) string {
	pcm := make([]float32, audio.Rate*ms/1000)
	for i := range pcm {
		pcm[i] = loud * float32(i%40-20) / 20
	}
	return `{"type":"input_audio_buffer.append","audio":"` + base64.StdEncoding.EncodeToString(audio.PCM16.Encode(nil, pcm)) + `"}`
}

// order checks what the API promises of the events of one response.
func order(t *testing.T, events []event) {
	t.Helper()
	open := map[any]bool{} // by response
	parts := map[string]int{}
	for _, e := range events {
		id := e["response_id"]
		switch kind := e.kind(); {
		case kind == "response.created":
			open[field(e, "response.id")] = true
		case kind == "response.done":
			if !open[field(e, "response.id")] {
				t.Errorf("%v ends and is not open", field(e, "response.id"))
			}
			open[field(e, "response.id")] = false
		case strings.HasPrefix(kind, "response.") && !open[id]:
			t.Errorf("%s of %v, which is not open", kind, id)
		case kind == "response.content_part.added":
			parts[fmt.Sprint(id, e["item_id"], e["content_index"])] = 1
		case kind == "response.content_part.done":
			parts[fmt.Sprint(id, e["item_id"], e["content_index"])] = 2
		case kind == "response.output_audio.delta" || kind == "response.output_text.delta" || kind == "response.output_audio_transcript.delta":
			if parts[fmt.Sprint(id, e["item_id"], e["content_index"])] != 1 {
				t.Errorf("%s outside of its part", kind)
			}
		}
	}
	ids := map[any]bool{}
	for _, e := range events {
		if ids[e["event_id"]] {
			t.Errorf("two events are %v", e["event_id"])
		}
		ids[e["event_id"]] = true
	}
}

func TestConversation(t *testing.T) {
	c := dial(t, rig(t, "hello there"), "?model=echo")
	all := c.until("session.created")
	c.send(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"transcription":{"model":"whisper-1"}}}}}`)
	c.send(speech(800, 0.5))
	c.send(speech(1500, 0))
	all = append(all, c.until("response.done")...)
	order(t, all)
	for _, kind := range []string{"conversation.created", "session.updated", "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped",
		"input_audio_buffer.committed", "conversation.item.added", "conversation.item.input_audio_transcription.completed", "response.created",
		"response.output_audio.delta", "response.output_audio_transcript.done", "response.output_item.done"} {
		if find(all, kind) == nil {
			t.Errorf("there was no %s", kind)
		}
	}
	if text := find(all, "response.output_audio_transcript.done")["transcript"]; text != "You said: hello there" {
		t.Error(text)
	}
	if status := field(all[len(all)-1], "response.status"); status != "completed" {
		t.Error(status)
	}
	sound := 0
	for _, e := range all {
		if e.kind() == "response.output_audio.delta" {
			b, err := base64.StdEncoding.DecodeString(e["delta"].(string))
			if err != nil || len(b)%2 != 0 {
				t.Fatal(err, len(b))
			}
			sound += len(b)
		}
	}
	// 21 characters of 40 ms, to the sample but for the resampler's ends.
	if want := 21 * 40 * 24 * 2; sound < want-4800 || sound > want+4800 {
		t.Errorf("%d bytes of sound, not about %d", sound, want)
	}
}

func TestTextAndTools(t *testing.T) {
	c := dial(t, rig(t, ""), "")
	c.until("session.created")
	c.send(`{"type":"session.update","session":{"type":"realtime","output_modalities":["text"],"tools":[{"type":"function","name":"clock","parameters":{"type":"object"}}]}}`)
	c.send(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"call it"}]}}`)
	c.send(`{"type":"response.create"}`)
	all := c.until("response.done")
	call := find(all, "response.function_call_arguments.done")
	if call["name"] != "clock" || call["arguments"] != `{"zone":"KST"}` {
		t.Fatal(call)
	}
	c.send(`{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"call_1","output":"noon"}}`)
	c.send(`{"type":"response.create"}`)
	more := c.until("response.done")
	order(t, append(all, more...))
	if text := find(more, "response.output_text.done")["text"]; text != "You said: It is noon" {
		t.Error(text)
	}
	c.send(`{"type":"response.create","response":{"conversation":"none","metadata":{"k":"v"},"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"aside"}]}]}}`)
	aside := c.until("response.done")
	last := aside[len(aside)-1]
	if field(last, "response.conversation_id") != nil || field(last, "response.metadata.k") != "v" || find(aside, "conversation.item.added") != nil {
		t.Error("an answer out of band is part of the conversation:", last)
	}
	c.send(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"fail"}]}}`)
	c.send(`{"type":"response.create"}`)
	failed := c.until("response.done")
	if last := failed[len(failed)-1]; field(last, "response.status") != "failed" || field(last, "response.status_details.error.message") == nil {
		t.Error(last)
	}
}

func TestCancel(t *testing.T) {
	c := dial(t, rig(t, ""), "")
	c.until("session.created")
	c.send(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"wait"}]}}`)
	c.send(`{"type":"response.create"}`)
	c.until("response.created")
	c.send(`{"type":"response.create","event_id":"second"}`)
	for e := c.next(); ; e = c.next() {
		if e.kind() == "error" {
			if field(e, "error.code") != "conversation_already_has_active_response" || field(e, "error.event_id") != "second" {
				t.Error(e)
			}
			break
		}
	}
	c.send(`{"type":"response.cancel"}`)
	all := c.until("response.done")
	if last := all[len(all)-1]; field(last, "response.status") != "cancelled" || field(last, "response.status_details.reason") != "client_cancelled" {
		t.Error(last)
	}
}

// A malformed event is answered, and the session goes on.
func TestMistakes(t *testing.T) {
	c := dial(t, rig(t, ""), "")
	c.until("session.created")
	for message, code := range map[string]string{
		`{"type":"nonsense","event_id":"n"}`: wire.CodeType,
		`not json`:                           wire.CodeJSON,
		`{"type":"session.update","session":{"type":"transcription"}}`: wire.CodeValue,
		`{"type":"conversation.item.retrieve","item_id":"nobody"}`:     "item_not_found",
		`{"type":"input_audio_buffer.append","audio":"AAAA"}`:          "",
		`{"type":"output_audio_buffer.clear"}`:                         wire.CodeUnsupported,
	} {
		c.send(message)
		e := c.next()
		for e.kind() != "error" {
			e = c.next()
		}
		if e["event_id"] == nil || code != "" && field(e, "error.code") != code {
			t.Errorf("%s: %v", message, e)
		}
	}
	if err := c.ws.WriteMessage(websocket.BinaryMessage, []byte{1}); err != nil {
		t.Fatal(err)
	}
	c.send(`{"type":"input_audio_buffer.clear"}`)
	for e := c.next(); e.kind() != "input_audio_buffer.cleared"; e = c.next() {
		if e.kind() != "error" {
			t.Error(e)
		}
	}
}

// An update that the session refuses changes nothing of what later ones are laid over.
func TestRefusedUpdate(t *testing.T) {
	c := dial(t, rig(t, "hi"), "")
	c.until("session.created")
	c.send(speech(800, 0.5))
	c.send(speech(1500, 0))
	c.until("response.done") // the voice is fixed now
	c.send(`{"type":"session.update","event_id":"v","session":{"type":"realtime","instructions":"new","audio":{"output":{"voice":"another"}}}}`)
	e := c.next()
	for e.kind() != "error" {
		e = c.next()
	}
	if field(e, "error.event_id") != "v" {
		t.Error(e)
	}
	c.send(`{"type":"session.update","session":{"type":"realtime","max_output_tokens":7}}`)
	all := c.until("session.updated")
	s := all[len(all)-1]
	if field(s, "session.instructions") != "" || field(s, "session.max_output_tokens") != 7.0 {
		t.Error(s)
	}
}

func TestDoor(t *testing.T) {
	srv := rig(t, "")
	url := "ws" + strings.TrimPrefix(srv.URL, "http") + "/v1/realtime"
	for name, h := range map[string]http.Header{
		"no key":     {},
		"wrong key":  {"Authorization": {"Bearer bad"}},
		"wrong page": {"Authorization": {"Bearer good"}, "Origin": {"https://evil.example"}},
		"the beta":   {"Authorization": {"Bearer good"}, "Openai-Beta": {"realtime=v1"}},
	} {
		ws, resp, err := websocket.DefaultDialer.Dial(url, h)
		if !errors.Is(err, websocket.ErrBadHandshake) {
			t.Errorf("%s: %v", name, err)
			ws.Close()
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		var e struct{ Error struct{ Code string } }
		if json.Unmarshal(body, &e) != nil || e.Error.Code == "" {
			t.Errorf("%s: %s", name, body)
		}
	}
	// A key in the name of a subprotocol, as a browser shows it.
	d := websocket.Dialer{Subprotocols: []string{"realtime", "openai-insecure-api-key.good"}}
	ws, _, err := d.Dial(url, nil)
	if err != nil || ws.Subprotocol() != "realtime" {
		t.Fatal(err)
	}
	ws.Close()
}

func TestSecret(t *testing.T) {
	srv := rig(t, "")
	post := func(body string) (int, event) {
		req, _ := http.NewRequest("POST", srv.URL+"/v1/realtime/client_secrets", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer good")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var e event
		_ = json.NewDecoder(resp.Body).Decode(&e)
		return resp.StatusCode, e
	}
	status, e := post(`{"expires_after":{"anchor":"created_at","seconds":30},"session":{"type":"realtime","instructions":"from the secret"}}`)
	value, _ := e["value"].(string)
	if status != 200 || !strings.HasPrefix(value, secretPrefix) || field(e, "session.instructions") != "from the secret" {
		t.Fatal(status, e)
	}
	c := dial(t, srv, "", "Authorization", "Bearer "+value)
	if s := c.until("session.created")[0]; field(s, "session.instructions") != "from the secret" {
		t.Error(s)
	}
	_, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http")+"/v1/realtime", http.Header{"Authorization": {"Bearer " + value}})
	if err == nil || resp.StatusCode != http.StatusUnauthorized {
		t.Error("a secret opened two connections:", err)
	}
	if status, _ := post(`{"expires_after":{"seconds":5}}`); status != 400 {
		t.Error(status)
	}

	now := time.Now()
	s := newSecrets(func() time.Time { return now })
	value, _, _ = s.make("h", wire.Default("m"), time.Minute)
	now = now.Add(time.Minute)
	if _, _, ok := s.use(value); ok {
		t.Error("a secret outlived its time")
	}
}

func TestResume(t *testing.T) {
	srv := rig(t, "")
	c := dial(t, srv, "?duplex=1")
	token, _ := find(c.until("session.resumable"), "session.resumable")["token"].(string)
	c.send(`{"type":"conversation.item.create","item":{"id":"kept","type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}`)
	all := c.until("conversation.item.done")
	last := all[len(all)-1]["server_event_seq"].(float64)
	c.ws.Close()

	again := dial(t, srv, fmt.Sprintf("?duplex=1&resume=%s&last_seq=%d", token, int(last)))
	again.send(`{"type":"conversation.item.retrieve","item_id":"kept"}`)
	e := again.next()
	if e.kind() != "conversation.item.retrieved" || e["server_event_seq"].(float64) != last+1 {
		t.Fatal("events were lost, or told twice:", e)
	}
	newer := dial(t, srv, fmt.Sprintf("?duplex=1&resume=%s&last_seq=%d", token, int(last)+1))
	_ = again.ws.SetReadDeadline(time.Now().Add(time.Minute))
	_, _, err := again.ws.ReadMessage()
	var closed *websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != websocket.ClosePolicyViolation || !strings.HasPrefix(closed.Text, "replaced") {
		t.Error(err)
	}
	newer.send(`{"type":"session.close"}`)
	_, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http")+"/v1/realtime?resume=nonsense", http.Header{"Authorization": {"Bearer good"}})
	if err == nil || resp.StatusCode != 400 {
		t.Error(err)
	}
}

func TestSpeech(t *testing.T) {
	srv := rig(t, "")
	post := func(body string) (*http.Response, []byte) {
		req, _ := http.NewRequest("POST", srv.URL+"/v1/audio/speech", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer good")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp, b
	}
	resp, body := post(`{"model":"tts-1","input":"Hello there. How are you?","voice":"alloy"}`)
	wav, err := audio.ReadWAV(bytes.NewReader(body), 1<<20)
	if err != nil || resp.StatusCode != 200 || wav.Rate != audio.Rate || len(wav.PCM) < audio.Rate/2 || wav.Label != audio.SyntheticLabel {
		t.Fatal(resp.StatusCode, err, len(body))
	}
	if _, pcm := post(`{"input":"Hello there. How are you?","response_format":"pcm"}`); len(pcm) != 2*len(wav.PCM) {
		t.Error(len(pcm), len(wav.PCM))
	}
	if _, events := post(`{"input":"Hi.","stream_format":"sse","response_format":"pcm"}`); !bytes.Contains(events, []byte("speech.audio.done")) {
		t.Errorf("%s", events)
	}
	for _, bad := range []string{`{}`, `{"input":"x","response_format":"mp3"}`, `{"input":"x","speed":9}`, `[`, `{"input":"x","loud":true}`} {
		if resp, body := post(bad); resp.StatusCode != 400 || !bytes.Contains(body, []byte(`"error"`)) {
			t.Errorf("%s: %d %s", bad, resp.StatusCode, body)
		}
	}
}

func TestTranscriptions(t *testing.T) {
	srv := rig(t, "what was said")
	var wav bytes.Buffer
	if err := audio.WriteWAV(&wav, 8000, make([]float32, 8000), ""); err != nil {
		t.Fatal(err)
	}
	post := func(file []byte, fields ...string) (int, string) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for i := 0; i+1 < len(fields); i += 2 {
			_ = w.WriteField(fields[i], fields[i+1])
		}
		part, _ := w.CreateFormFile("file", "a.wav")
		_, _ = part.Write(file)
		w.Close()
		req, _ := http.NewRequest("POST", srv.URL+"/v1/audio/transcriptions", &body)
		req.Header.Set("Authorization", "Bearer good")
		req.Header.Set("Content-Type", w.FormDataContentType())
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, body := post(wav.Bytes(), "model", "whisper-1"); status != 200 || !strings.Contains(body, `"text":"what was said"`) {
		t.Error(status, body)
	}
	if status, body := post(wav.Bytes(), "response_format", "text"); status != 200 || body != "what was said\n" {
		t.Error(status, body)
	}
	if status, body := post([]byte("ID3 is an mp3"), "model", "m"); status != 400 || !strings.Contains(body, "ffmpeg") {
		t.Error(status, body)
	}
	if status, _ := post(wav.Bytes(), "response_format", "srt"); status != 400 {
		t.Error(status)
	}
	if status, _ := post(wav.Bytes(), "colour", "red"); status != 400 {
		t.Error(status)
	}
}
