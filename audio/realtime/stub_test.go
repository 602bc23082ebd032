package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dure/audio/turn"
	"dure/audio/voice"
	"dure/inference"

	"github.com/gorilla/websocket"
)

// Engines that do what they are told, at once.

type loudVAD struct{ rest []float32 }

func (v *loudVAD) Hop() int { return 512 }
func (v *loudVAD) Feed(dst, pcm []float32) ([]float32, error) {
	for v.rest = append(v.rest, pcm...); len(v.rest) >= 512; v.rest = v.rest[512:] {
		p := float32(0)
		for _, x := range v.rest[:512] {
			p = max(p, float32(math.Abs(float64(x))))
		}
		dst = append(dst, min(1, 4*p))
	}
	return dst, nil
}
func (v *loudVAD) Reset()       { v.rest = nil }
func (v *loudVAD) Close() error { return nil }

type hearsWords struct{ text string }

func (h hearsWords) Start(context.Context, voice.ListenOptions) (voice.Transcriber, error) {
	return h, nil
}
func (hearsWords) Feed([]float32) error { return nil }
func (h hearsWords) Finish(context.Context) (voice.Transcript, error) {
	return voice.Transcript{Text: h.text, Language: "en"}, nil
}
func (hearsWords) Close() error { return nil }

// tone speaks 40 ms for each character.
type tone struct{}

func (tone) Speak(_ context.Context, u voice.Utterance) iter.Seq2[voice.Chunk, error] {
	return func(yield func(voice.Chunk, error) bool) {
		pcm := make([]float32, 640*len([]rune(u.Text)))
		for i := range pcm {
			pcm[i] = float32(0.3 * math.Sin(float64(i)/8))
		}
		yield(voice.Chunk{Rate: 16000, PCM: pcm}, nil)
	}
}

// echo answers with what was said; "call" calls a tool, "fail" fails, "wait" says nothing
// until it is stopped.
type echo struct{}

func (echo) Respond(ctx context.Context, r turn.Request) iter.Seq2[voice.Delta, error] {
	return func(yield func(voice.Delta, error) bool) {
		said := r.Said
		if last := len(r.History) - 1; last >= 0 && r.History[last].Kind == turn.FunctionOutput {
			said = "It is " + r.History[last].Output
		} else if last >= 0 && said == "" {
			said = r.History[last].Text()
		}
		switch {
		case strings.Contains(said, "fail"):
			yield(voice.Delta{}, errors.New("no answer"))
			return
		case strings.Contains(said, "wait"):
			<-ctx.Done()
			return
		case strings.Contains(said, "call"):
			_ = yield(voice.Delta{Call: &inference.ToolCallDelta{ID: "call_1", Name: "clock"}}, nil) &&
				yield(voice.Delta{Call: &inference.ToolCallDelta{Arguments: `{"zone":"KST"}`}}, nil) &&
				yield(voice.Delta{Done: &voice.Done{Finish: inference.FinishToolCalls}}, nil)
			return
		}
		for _, word := range strings.SplitAfter("You said: "+said, " ") {
			if !yield(voice.Delta{Text: word}, nil) {
				return
			}
		}
		yield(voice.Delta{Done: &voice.Done{Finish: inference.FinishStop, Usage: inference.Usage{PromptTokens: 9, CompletionTokens: 4}}}, nil)
	}
}

// rig is a server with those engines, which knows the key "good" and no other.
func rig(t *testing.T, said string) *httptest.Server {
	t.Helper()
	s := New(Options{
		Sessions: &voice.Sessions{}, STT: hearsWords{said}, TTS: tone{}, Model: "echo", Log: slog.New(slog.DiscardHandler), MostPerHolder: 8,
		Identify: func(_ *http.Request, secret string) (string, error) {
			if secret != "good" {
				return "", invalidKey
			}
			return secret, nil
		},
		AllowOrigin: func(r *http.Request) bool {
			return r.Header.Get("Origin") == "" || r.Header.Get("Origin") == "http://localhost"
		},
		Prepare: func(_ *http.Request, _ string, c turn.Config) (voice.Options, error) {
			return voice.Options{Config: c, VAD: &loudVAD{}, STT: hearsWords{said}, TTS: tone{}, Responder: echo{}, Keep: 8 * time.Second}, nil
		},
	})
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	return srv
}

// client is one connection that is read event by event.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

func dial(t *testing.T, srv *httptest.Server, query string, headers ...string) *client {
	t.Helper()
	h := http.Header{"Authorization": {"Bearer good"}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	ws, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http")+"/v1/realtime"+query, h)
	if err != nil {
		t.Fatalf("%v (%v)", err, resp)
	}
	t.Cleanup(func() { ws.Close() })
	return &client{t, ws}
}

type event map[string]any

func (e event) kind() string { s, _ := e["type"].(string); return s }

func (c *client) send(message string) {
	c.t.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) next() event {
	c.t.Helper()
	_ = c.ws.SetReadDeadline(time.Now().Add(time.Minute))
	_, message, err := c.ws.ReadMessage()
	if err != nil {
		c.t.Fatal(err)
	}
	var e event
	if err := json.Unmarshal(message, &e); err != nil {
		c.t.Fatal(err)
	}
	return e
}

// until reads to an event of a kind and gives all that came, that one last.
func (c *client) until(kind string) []event {
	c.t.Helper()
	var all []event
	for {
		e := c.next()
		all = append(all, e)
		if e.kind() == kind {
			return all
		}
		if e.kind() == "error" {
			c.t.Fatalf("an error while waiting for %s: %v", kind, e)
		}
	}
}

func find(events []event, kind string) event {
	for _, e := range events {
		if e.kind() == kind {
			return e
		}
	}
	return nil
}

// field walks into an event: "response.status".
func field(e event, path string) any {
	var v any = map[string]any(e)
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}
