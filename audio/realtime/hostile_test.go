package realtime

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

var frames = flag.Int("frames", 3000, "how many random frames TestHostileFrames sends; 1000000 is the bar")

// sessionsLeft is what the server still has.
func sessionsLeft(t *testing.T, srv *httptest.Server) Report {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", srv.URL+"/v1/dure/voice", nil)
	req.Header.Set("Authorization", "Bearer good")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var r Report
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

// eventually waits for what must come, on a slow machine too.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not in 90 s", what)
		}
	}
}

// frame is a frame of a client: garbage, or an event with something wrong, or none.
func frame(r *rand.Rand) (kind int, message []byte) {
	kinds := []string{"session.update", "input_audio_buffer.append", "input_audio_buffer.commit", "input_audio_buffer.clear", "conversation.item.create",
		"conversation.item.retrieve", "conversation.item.truncate", "conversation.item.delete", "response.create", "response.cancel", "output_audio_buffer.clear", "playback.ack", "x"}
	values := []string{`1`, `-1`, `1e99`, `null`, `true`, `"x"`, `""`, `[]`, `{}`, `"AAAA"`, `"A"`, `[{"type":"input_text","text":"hi"}]`, `{"type":"message","role":"user","content":[]}`,
		`{"type":"realtime"}`, `{"audio":{"input":{"turn_detection":null}}}`, `"root"`, `"item_1"`, `{"type":"message","role":"user","content":[{"type":"input_text","text":"wait"}]}`}
	fields := []string{"audio", "item", "item_id", "response", "response_id", "session", "content_index", "audio_end_ms", "previous_item_id", "event_id", "played_ms"}
	switch r.IntN(6) {
	case 0:
		b := make([]byte, r.IntN(64))
		for i := range b {
			b[i] = byte(r.UintN(256))
		}
		return websocket.BinaryMessage, b
	case 1:
		return websocket.TextMessage, []byte(strings.Repeat(`{"a":[`, r.IntN(300)))
	}
	out := `{"type":"` + kinds[r.IntN(len(kinds))] + `"`
	for range r.IntN(4) {
		out += `,"` + fields[r.IntN(len(fields))] + `":` + values[r.IntN(len(values))]
	}
	out += "}"
	if r.IntN(20) == 0 {
		out = out[:r.IntN(len(out))]
	}
	return websocket.TextMessage, []byte(out)
}

// patient dials again while the server has no room: the frames of sessions that are kept
// busy like this take long, and it admits by that.
func patient(t *testing.T, srv *httptest.Server, query string) *client {
	t.Helper()
	var c *client
	eventually(t, "room for a session", func() bool {
		ws, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http")+"/v1/realtime"+query, http.Header{"Authorization": {"Bearer good"}})
		if err != nil && (resp == nil || resp.StatusCode != http.StatusTooManyRequests) {
			t.Fatal(err)
		}
		if err == nil {
			t.Cleanup(func() { ws.Close() })
			c = &client{t, ws}
		}
		return err == nil
	})
	return c
}

// A recording of a voice is refused in every place where one can come in, unless somebody
// finds a consent.
func TestReferenceVoice(t *testing.T) {
	srv := rig(t, "hello")
	session := `{"type":"realtime","ref_audio":"data:audio/wav;base64,AAAA"}`
	c := dial(t, srv, "")
	c.send(`{"type":"session.update","event_id":"e","session":` + session + `}`)
	for {
		e := c.next()
		if e.kind() == "session.updated" {
			t.Fatal("the voice is taken")
		}
		if e.kind() == "error" {
			if field(e, "error.code") != "voice_consent_required" || field(e, "error.event_id") != "e" {
				t.Error(e)
			}
			break
		}
	}
	c.send(`{"type":"session.update","session":{"type":"realtime","instructions":"x"}}`) // the session goes on
	c.until("session.updated")
	req, _ := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/v1/realtime/client_secrets", strings.NewReader(`{"session":`+session+`}`))
	req.Header.Set("Authorization", "Bearer good")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "voice_consent_required") {
		t.Error(resp.Status, string(body))
	}
}

// Frames that make no sense are answered by typed errors, and the session goes on.
func TestHostileFrames(t *testing.T) {
	srv := rig(t, "hello")
	random := rand.New(rand.NewPCG(3, 14))
	each := max(1000, *frames/4) // of a connection: a session waits for its client, and a key may have eight
	for sent := 0; sent < *frames; {
		c := patient(t, srv, "?duplex="+fmt.Sprint(random.IntN(2)))
		done, last := make(chan int, 1), make(chan struct{})
		go func() { // reads all, to the end
			errors := 0
			for {
				_, message, err := c.ws.ReadMessage()
				if err != nil {
					done <- errors
					return
				}
				var e event
				if json.Unmarshal(message, &e) == nil && e.kind() == "error" {
					errors++
					if field(e, "error.event_id") == "last" {
						close(last)
					}
					if code, _ := field(e, "error.type").(string); code == "" || code == "server_error" {
						t.Errorf("an error without a type of its own: %s", message)
					}
				}
			}
		}()
		n := 0
		for ; n < each; n++ {
			kind, message := frame(random)
			if err := c.ws.WriteMessage(kind, message); err != nil {
				break
			}
		}
		sent += n
		if n == each {
			c.send(`{"type":"conversation.item.retrieve","item_id":"nobody","event_id":"last"}`)
			select {
			case <-last: // all before it was answered
			case <-time.After(10 * time.Minute):
				t.Fatal("the session answers no more")
			}
		}
		c.ws.Close()
		if errors := <-done; n == 1000 && errors == 0 {
			t.Error("1000 such frames, and no error")
		}
		if n == 0 {
			t.Fatal("the connection takes nothing")
		}
	}
	c := patient(t, srv, "") // and the server still serves
	c.until("session.created")
}

// Clients that do not read, that send more than is allowed, or that go at any moment leave
// nothing behind but a session that waits for them, and that ends when it is told to.
func TestHostileClients(t *testing.T) {
	srv := rig(t, "hello")
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	header := http.Header{"Authorization": {"Bearer good"}}
	at := "ws" + strings.TrimPrefix(srv.URL, "http") + "/v1/realtime"
	open := func() *websocket.Conn {
		ws, _, err := websocket.DefaultDialer.Dial(at, header)
		if err != nil {
			t.Fatal(err)
		}
		return ws
	}
	// A message that is too large ends the connection, and costs no memory first.
	ws := open()
	w, err := ws.NextWriter(websocket.TextMessage)
	if err == nil {
		piece := []byte(strings.Repeat("a", 1<<20))
		for range 64 {
			if _, err = w.Write(piece); err != nil {
				break
			}
		}
	}
	_ = ws.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Error("a message of 64 MB is not refused")
			}
			break
		}
	}
	ws.Close()
	// A reader that sleeps is no hold: events are taken, and others are served.
	sleeper := open()
	for i := range 3000 {
		if sleeper.SetWriteDeadline(time.Now().Add(2*time.Second)) != nil ||
			sleeper.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]}}`, strings.Repeat("x", 500))) != nil {
			t.Logf("a client that does not read is no longer heard after %d events", i)
			break
		}
	}
	awake := dial(t, srv, "")
	awake.until("session.created")
	awake.ws.Close()
	sleeper.Close()
	// Gone at every stage.
	sound := `{"type":"input_audio_buffer.append","audio":"` + base64.StdEncoding.EncodeToString(make([]byte, 6400)) + `"}`
	for stage, events := range [][]string{{}, {sound}, {sound, `{"type":"input_audio_buffer.commit"}`},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"wait"}]}}`, `{"type":"response.create"}`}} {
		ws := open()
		for _, e := range events {
			if err := ws.WriteMessage(websocket.TextMessage, []byte(e)); err != nil {
				t.Fatalf("stage %d: %v", stage, err)
			}
		}
		ws.UnderlyingConn().Close() // no goodbye
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(srv.URL, "http://")) // gone within the handshake
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET /v1/realtime HTTP/1.1\r\nHost: x\r\nUpgrade: web")
	conn.Close()
	// All wait for their client, none is attached; and after that time, none is left.
	eventually(t, "no session is attached", func() bool {
		for _, s := range sessionsLeft(t, srv).Sessions {
			if s.Attached {
				return false
			}
		}
		return true
	})
	eventually(t, "no session is left", func() bool { return len(sessionsLeft(t, srv).Sessions) == 0 })
	http.DefaultClient.CloseIdleConnections()
	eventually(t, "no goroutine is left", func() bool {
		http.DefaultClient.CloseIdleConnections()
		return runtime.NumGoroutine() <= before+2
	})
}
