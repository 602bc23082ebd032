package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dure/inference"
	"dure/inference/anthropic"
	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/ollama"
	"dure/inference/openai"
	"dure/inference/openai/memory"
)

// hostileBodies are wrong on every route that takes a body.
var hostileBodies = map[string]string{
	"null": "null", "list": "[]", "string": `"x"`, "number": "12", "huge number": "1e999", "true": "true",
	"open object": "{", "open string": `{"model":"`, "open list": `{"stop":[`, "half a word": "tru", "comma": "{,}",
	"two values": `{"model":"small"} {}`, "text behind": `{"model":"small"}x`, "closed twice": `{"model":"small"}}`,
	"single quotes": `{'model':'small'}`, "comment": `{/* */}`, "no quotes": `{model:"small"}`,
	"not UTF-8": "{\"model\":\"\xff\xfe\"}", "NUL": "{\"model\":\"\x00\"}", "a byte order mark": "\xef\xbb\xbf{",
	"deep lists": `{"x":` + strings.Repeat("[", 100_000), "deep objects": strings.Repeat(`{"a":`, 100_000),
	"model is a number": `{"model":1}`, "model is a list": `{"model":["small"]}`, "model is an object": `{"model":{}}`,
	"form": "model=small&stream=true", "XML": "<model>small</model>",
	"too large": `{"model":"` + strings.Repeat("x", front.MaxBody) + `"}`,
}

// hostileFields are wrong beside what a conversation needs, on any surface.
var hostileFields = []string{
	`"messages":1`, `"messages":[1]`, `"messages":[{"role":"user"`, `"messages":[{"role":7,"content":"x"}]`,
	`"messages":[{"role":"user","content":7}]`, `"messages":{"role":"user"}`, `"messages":[[]]`,
	`"messages":[{"role":"wizard","content":"x"}]`, `"tools":"all"`, `"tools":[7]`, `"stream":"yes"`, `"stream":1`,
	`"priority":"most"`, `"deadline_ms":-1`, `"session":""`, `"agent":"a/../b"`, `"parent":"p"`, `"keep_alive":"soon"`,
}

// idle is a pool in which nothing happens.
type idle struct{}

func (idle) Status() (json.RawMessage, error)                          { return json.RawMessage("[]"), nil }
func (idle) Load(context.Context, string, time.Duration) error         { return nil }
func (idle) Unload(context.Context, string, bool) error                { return nil }
func (idle) Pause(context.Context, bool) error                         { return nil }
func (idle) Resume() []string                                          { return nil }
func (idle) Describe(string) (ollama.Details, error)                   { return ollama.Details{}, nil }
func (idle) Copy(string, string) error                                 { return nil }
func (idle) Loaded() []ollama.Loaded                                   { return nil }
func (idle) Pull(context.Context, string, func(ollama.Progress)) error { return nil }
func (idle) Remove(context.Context, string) error                      { return nil }

// talking is a model whose answer goes on for as long as it gets words.
func talking(words <-chan string) fronttest.GenerateFunc {
	return func(ctx context.Context, _ *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			if !yield(fronttest.Started(), nil) {
				return
			}
			for word := range words {
				if !yield(fronttest.Says(word), nil) {
					return
				}
			}
			yield(fronttest.Done(), nil)
		}
	}
}

// besieged is a server of all surfaces, with the one key "k".
func besieged(t *testing.T, words <-chan string) (url string, routes []front.Route) {
	registry := prometheus.NewRegistry()
	models := &fronttest.Models{
		Listings: []front.Listing{{Name: "small", Default: true, Context: 2048, Params: inference.DefaultParams()}},
		Generate: talking(words), Info: inference.Info{Vocabulary: 257},
	}
	kept, err := memory.Open(t.TempDir(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	responses := openai.NewResponses(kept, slog.New(slog.DiscardHandler))
	t.Cleanup(responses.Close)
	h := front.New(front.Options{
		Models: models, Surfaces: []front.Surface{openai.Surface(responses), anthropic.Surface(), ollama.Surface(ollama.Options{Catalogue: idle{}})},
		Registry: registry, Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		Keys: fronttest.OneKey("k"), Pool: idle{}, BodyBudget: 64 << 20, Routes: swarmRoutes(swarmRuns(t.TempDir()), nil),
	})
	server := httptest.NewUnstartedServer(nil)
	server.Config = front.NewServer(h, slog.New(slog.DiscardHandler))
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, h.Routes()
}

// wantTyped checks that a refusal has the form of the surface of its path.
func wantTyped(t *testing.T, what, path string, status int, body []byte) {
	t.Helper()
	if status < 400 || status > 499 {
		t.Errorf("%s: status %d: %.300s", what, status, body)
		return
	}
	var e struct {
		Type  string
		Code  string
		Error json.RawMessage
	}
	if err := json.Unmarshal(body, &e); err != nil {
		t.Errorf("%s: %d, not JSON: %.300s", what, status, body)
		return
	}
	var text string
	var object struct{ Type, Code, Message string }
	var ok bool
	switch {
	case path == "/" || strings.HasPrefix(path, "/api/"):
		ok = json.Unmarshal(e.Error, &text) == nil && text != "" && e.Code != ""
	case strings.HasPrefix(path, "/v1/messages"):
		ok = json.Unmarshal(e.Error, &object) == nil && e.Type == "error" && object.Type != "" && object.Message != "" && object.Code != ""
	default:
		ok = json.Unmarshal(e.Error, &object) == nil && object.Type != "" && object.Message != "" && object.Code != ""
	}
	if !ok {
		t.Errorf("%s: %d in another form: %.300s", what, status, body)
	}
	if len(body) > 8<<10 {
		t.Errorf("%s: the refusal has %d bytes", what, len(body))
	}
}

// ask sends a request and reads its answer. Headers are name, value, ...
func ask(t *testing.T, method, url, body string, headers ...string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp.StatusCode, data
}

// Hundreds of requests that are wrong in every way that can be thought of: each is
// refused in its surface's form, a stream beside them goes on, and nothing is left.
func TestHostileRequests(t *testing.T) {
	words := make(chan string)
	url, routes := besieged(t, words)
	stream := openStream(t, url)
	said := 0
	undisturbed := func() {
		t.Helper()
		said++
		word := fmt.Sprintf("word%d", said)
		words <- word
		for {
			line, err := stream.ReadString('\n')
			if err != nil {
				t.Fatalf("the stream broke: %v", err)
			}
			if strings.Contains(line, `"content":"`+word+`"`) {
				return
			}
		}
	}
	undisturbed()
	before := heap()
	n := 0
	for _, r := range routes {
		if strings.HasPrefix(r.Doc, "refused") {
			continue
		}
		path := strings.ReplaceAll(r.Path, "{id}", "small")
		if r.MaxBody > 0 {
			n += hostileBodiesOn(t, r.Method, url, path)
		}
		n += hostileHeadersOn(t, r, url, path)
		undisturbed()
	}
	n += hostileFieldsOn(t, url)
	n += hostilePathsOn(t, url)
	undisturbed()
	n += hostileBytes(t, url)
	undisturbed()
	if n < 200 {
		t.Errorf("only %d requests", n)
	}
	if after := heap(); after > before+32<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	if _, page := ask(t, "GET", url+"/metrics", ""); !strings.Contains(string(page), "\ndure_http_body_bytes ") || strings.Contains(string(page), "internal_error") {
		t.Errorf("metrics: %.3000s", page)
	} else if held := line(string(page), "dure_http_body_bytes "); held != fmt.Sprint(len(streamBody)) {
		t.Errorf("bodies hold %s bytes", held)
	} else if series := strings.Count(string(page), "\ndure_http_requests_total{"); series > 12*len(routes) {
		t.Errorf("%d series of requests for %d routes", series, len(routes))
	}
	close(words)
	if rest, err := io.ReadAll(stream); err != nil || !strings.HasSuffix(strings.TrimSpace(string(rest)), "data: [DONE]") {
		t.Errorf("%v: the stream ends with %q", err, rest)
	}
	t.Logf("%d requests on %d routes, %d words beside them", n, len(routes), said)
}

func line(page, name string) string {
	for l := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(l, name); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

const streamBody = `{"stream":true,"messages":[{"role":"user","content":"go on"}]}`

func openStream(t *testing.T, url string) *bufio.Reader {
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(streamBody))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return bufio.NewReader(resp.Body)
}

func hostileBodiesOn(t *testing.T, method, url, path string) (n int) {
	for name, body := range hostileBodies {
		if strings.HasPrefix(path, "/v1/dure/") && strings.HasPrefix(name, "model is") {
			continue // orders name no model: the field is unknown there, which is warned of
		}
		status, answer := ask(t, method, url+path, body)
		wantTyped(t, path+": "+name, path, status, answer)
		n++
	}
	return n
}

func hostileHeadersOn(t *testing.T, r front.Route, url, path string) (n int) {
	good := `{"model":"small"}`
	for name, headers := range map[string][]string{
		"no key": {"Authorization", ""}, "wrong key": {"Authorization", "Bearer nope"}, "basic": {"Authorization", "Basic k"},
		"long key": {"Authorization", "Bearer " + strings.Repeat("k", 100_000)}, "evil origin": {"Origin", "https://evil.example"},
		"evil host": {"Host", "evil.example"}, "gzip": {"Content-Encoding", "gzip"},
	} {
		if r.Open && strings.HasPrefix(headers[0], "Auth") || r.MaxBody == 0 && name == "gzip" {
			continue
		}
		status, answer := ask(t, r.Method, url+path, good, headers...)
		wantTyped(t, path+": "+name, path, status, answer)
		n++
	}
	status, answer := ask(t, "PATCH", url+path, "{}")
	wantTyped(t, path+": PATCH", path, status, answer)
	return n + 1
}

func hostileFieldsOn(t *testing.T, url string) (n int) {
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/api/chat"} {
		for _, field := range hostileFields {
			body := `{"model":"small","max_tokens":8,` + field + `,"messages":[{"role":"user","content":"hi"}]}`
			if strings.HasPrefix(field, `"messages"`) {
				body = `{"model":"small","max_tokens":8,` + field + `}`
			}
			status, answer := ask(t, "POST", url+path, body)
			wantTyped(t, path+": "+field, path, status, answer)
			n++
		}
	}
	return n
}

func hostilePathsOn(t *testing.T, url string) (n int) {
	for _, path := range []string{
		"/v1/nope", "/v1/chat", "/v1/chat/completions/", "/v1//chat/completions", "/v1/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/v1/models/%00",
		"/v1/models/" + strings.Repeat("a", 5000), "/v1/messages/nope", "/v1/messages/batches", "/api/nope", "/api/blobs/sha256:0", "/api/" + strings.Repeat("a/", 2000),
		"/v1/dure/agents/nobody", "/v1/dure/models/nope/load",
	} {
		status, answer := ask(t, "DELETE", url+path, "")
		wantTyped(t, path, path, status, answer)
		n++
	}
	return n
}

// hostileBytes are no requests at all, or end early. Some are answered by net/http.
func hostileBytes(t *testing.T, url string) (n int) {
	const head = "Host: localhost\r\nAuthorization: Bearer k\r\n"
	for _, text := range []string{
		"GET\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GET / HTTP/9.9\r\n\r\n", "GET /health HTTP/1.1\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "POST /v1/chat/completions HTTP/1.1\r\n" + head + "Content-Length: -1\r\n\r\n",
		"POST /v1/chat/completions HTTP/1.1\r\n" + head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"POST /v1/chat/completions HTTP/1.1\r\n" + head + "Content-Length: 99999999999999999999\r\n\r\n",
		"POST /v1/chat/completions HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"POST /v1/messages HTTP/1.1\r\n" + head + "Transfer-Encoding: gzip\r\n\r\n",
		"POST /api/chat HTTP/1.1\r\n" + head + "Content-Length: 1000000000000\r\n\r\n{",
		"GET /v1/models HTTP/1.1\r\n" + head + "X: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"GET /v1/models HTTP/1.1\r\n" + head + strings.Repeat("X: y\r\n", 400_000) + "\r\n",
		"GET /v1/models HTTP/1.1\r\n" + head + "Bad Header: x\r\n\r\n", "GET /v1/models HTTP/1.1\r\n" + head + " folded: x\r\n\r\n",
	} {
		if answer := answerTo(t, url, text); answer != "" && !strings.HasPrefix(answer, "HTTP/1.1 4") && !strings.HasPrefix(answer, "HTTP/1.0 4") && !strings.HasPrefix(answer, "HTTP/1.1 50") {
			t.Errorf("%.60q: %.200q", text, answer)
		}
		n++
	}
	return n
}

// answerTo is what comes back to bytes; empty where the connection is cut instead.
func answerTo(t *testing.T, url, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	go func() {
		io.WriteString(conn, text)
		conn.(*net.TCPConn).CloseWrite()
	}()
	answer, err := io.ReadAll(conn)
	if os.IsTimeout(err) {
		t.Errorf("%.60q: no answer, and the connection stays", text)
	}
	return string(answer)
}
