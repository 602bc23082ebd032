package fronttest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/front"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// World is a server with a catalogue of two: "small", the default, and
// "org/large".
type World struct {
	Models  *Models
	Handler http.Handler
	URL     string
	Client  *http.Client
	Log     *LockedBuffer
	Over    chan struct{} // receives once per request whose handler returned

	t testing.TB
}

// New is a world that serves over real sockets until the test ends.
func New(t testing.TB, surfaces []front.Surface, generate GenerateFunc, change ...func(*front.Options)) *World {
	t.Helper()
	w := NewHandler(t, surfaces, generate, change...)
	server := httptest.NewServer(w.Handler)
	t.Cleanup(server.Close)
	w.URL, w.Client = server.URL, server.Client()
	return w
}

// NewHandler is a world that nobody serves yet.
func NewHandler(t testing.TB, surfaces []front.Surface, generate GenerateFunc, change ...func(*front.Options)) *World {
	t.Helper()
	w := &World{
		t: t,
		Models: &Models{
			Listings: []front.Listing{
				{Name: "small", OwnedBy: "dure", Default: true, Loaded: true, Context: 2048, Role: "demo",
					Created: time.Unix(1700000000, 0), Params: inference.Params{Temperature: 0.5, TopP: 0.9, MaxTokens: 64}},
				{Name: "org/large", OwnedBy: "dure", Params: inference.DefaultParams()},
			},
			Generate: generate,
			Info:     inference.Info{Vocabulary: 257},
		},
		Log:  &LockedBuffer{},
		Over: make(chan struct{}, 1000),
	}
	registry := prometheus.NewRegistry()
	options := front.Options{
		Models: w.Models, Surfaces: surfaces, Registry: registry, Version: "v1",
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		Log:     slog.New(slog.NewJSONHandler(w.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&options)
	}
	h := front.New(options)
	w.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer func() { w.Over <- struct{}{} }()
		h.ServeHTTP(rw, r)
	})
	return w
}

// Serve serves over real sockets, with requests that end with ctx.
func (w *World) Serve(ctx context.Context) {
	server := httptest.NewUnstartedServer(w.Handler)
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	w.t.Cleanup(server.Close)
	w.URL, w.Client = server.URL, server.Client()
}

// LockedBuffer is a buffer that several goroutines may use.
type LockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *LockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *LockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Reply is a response that was read to its end.
type Reply struct {
	Status int
	Header http.Header
	Body   string
	Err    error // of reading the body, or of having none
}

// Do sends a request with headers (name, value, ...) and reads its answer.
func (w *World) Do(method, path, body string, headers ...string) Reply {
	w.t.Helper()
	req, err := http.NewRequest(method, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.Client.Do(req)
	if err != nil {
		return Reply{Err: err}
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	return Reply{Status: res.StatusCode, Header: res.Header, Body: string(all), Err: err}
}

// Metric is the value of a line of GET /metrics, as text; empty where there is none.
func (w *World) Metric(line string) string {
	w.t.Helper()
	for l := range strings.Lines(w.Do("GET", "/metrics", "").Body) {
		if value, ok := strings.CutPrefix(l, line+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Lines are the log lines of requests with an info level or above.
func (w *World) Lines() []map[string]any {
	w.t.Helper()
	var all []map[string]any
	for l := range strings.Lines(w.Log.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			w.t.Fatal(err)
		}
		if m["level"] != "DEBUG" {
			all = append(all, m)
		}
	}
	return all
}
