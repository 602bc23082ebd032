package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dure/inference"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

type generateFunc func(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error]

// fakeModels is a catalogue whose models all generate by the same function.
type fakeModels struct {
	list     []Listing
	generate generateFunc
	info     inference.Info
	remote   bool                                         // no tokenizer
	bare     bool                                         // the tokenizer adds nothing
	tokenize error                                        // of the tokenizer
	open     func(ctx context.Context, name string) error // may be nil
	opened   atomic.Int64
	released atomic.Int64
	kept     atomic.Int64 // how long the latest wanted it to stay
}

func (f *fakeModels) List() []Listing { return f.list }

func (f *fakeModels) Open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error) {
	if f.open != nil {
		if err := f.open(ctx, name); err != nil {
			return nil, nil, err
		}
	}
	f.opened.Add(1)
	f.kept.Store(int64(keep))
	var model inference.Model = fakeModel{f.generate, f.info}
	if !f.remote {
		model = fakeLocal{model, f.bare, f.tokenize}
	}
	return model, func() { f.released.Add(1) }, nil
}

type fakeModel struct {
	generate generateFunc
	info     inference.Info
}

func (m fakeModel) Info() inference.Info { return m.info }

func (m fakeModel) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return m.generate(ctx, req)
}

// script answers every request with the same events and then err, if any.
func script(err error, events ...inference.Event) generateFunc {
	return func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			if err != nil {
				yield(inference.Event{}, err)
			}
		}
	}
}

func started() inference.Event {
	return inference.Event{Kind: inference.EventStarted, Usage: &inference.Usage{PromptTokens: 7}}
}

func says(s string) inference.Event { return inference.Event{Kind: inference.EventText, Text: s} }

func done() inference.Event {
	return inference.Event{Kind: inference.EventDone, Finish: inference.FinishStop, Usage: &inference.Usage{
		PromptTokens: 7, CompletionTokens: 3, CachedTokens: 2, QueueMS: 1.5, PrefillMS: 2.5, DecodeMS: 3.5}}
}

// world is a server with a fake catalogue.
type world struct {
	t       *testing.T
	models  *fakeModels
	handler http.Handler
	url     string
	client  *http.Client
	log     *lockedBuffer
	over    chan struct{} // receives once per request whose handler returned
}

// newWorld serves over real sockets.
func newWorld(t *testing.T, generate generateFunc, change ...func(*Options)) *world {
	t.Helper()
	w := newHandler(t, generate, change...)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	w.url, w.client = server.URL, server.Client()
	return w
}

func newHandler(t *testing.T, generate generateFunc, change ...func(*Options)) *world {
	t.Helper()
	w := &world{
		t: t,
		models: &fakeModels{
			list: []Listing{
				{Name: "small", OwnedBy: "dure", Default: true, Loaded: true, Context: 2048, Role: "demo",
					Created: time.Unix(1700000000, 0), Params: inference.Params{Temperature: 0.5, TopP: 0.9, MaxTokens: 64}},
				{Name: "org/large", OwnedBy: "dure", Params: inference.DefaultParams()},
			},
			generate: generate,
			info:     inference.Info{Vocabulary: 257},
		},
		log:  &lockedBuffer{},
		over: make(chan struct{}, 1000),
	}
	registry := prometheus.NewRegistry()
	options := Options{
		Models: w.models, Registry: registry, Version: "v1",
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		Log:     slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&options)
	}
	h := New(options)
	w.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer func() { w.over <- struct{}{} }()
		h.ServeHTTP(rw, r)
	})
	return w
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// reply is a response that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func (w *world) do(method, path, body string, headers ...string) reply {
	w.t.Helper()
	req, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: string(all), err: err}
}

func (w *world) complete(body string) reply {
	w.t.Helper()
	return w.do("POST", "/v1/completions", body, "Content-Type", "application/json")
}

func (w *world) chat(body string) reply {
	w.t.Helper()
	return w.do("POST", "/v1/chat/completions", body, "Content-Type", "application/json")
}

const (
	hello       = `{"messages":[{"role":"user","content":"hi"}]}`
	helloStream = `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

func (w *world) metric(line string) string {
	w.t.Helper()
	for l := range strings.Lines(w.do("GET", "/metrics", "").body) {
		if value, ok := strings.CutPrefix(l, line+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// lines are the log lines of requests with an info level or above.
func (w *world) lines() []map[string]any {
	w.t.Helper()
	var all []map[string]any
	for l := range strings.Lines(w.log.String()) {
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

// events splits a body into the data of its server-sent events.
func events(t *testing.T, body string) []string {
	t.Helper()
	var all []string
	scan := bufio.NewScanner(strings.NewReader(body))
	scan.Buffer(nil, 1<<26)
	for scan.Scan() {
		if scan.Text() == "" {
			continue
		}
		data, ok := strings.CutPrefix(scan.Text(), "data: ")
		if !ok {
			t.Fatalf("not an event: %q", scan.Text())
		}
		all = append(all, data)
	}
	return all
}

var volatile = regexp.MustCompile(`"id":"(?:chatcmpl|cmpl)-[A-Z2-7]{26}"|"created":\d+|"seed":\d+`)

// steady replaces what differs from run to run.
func steady(s string) string {
	return volatile.ReplaceAllStringFunc(s, func(m string) string {
		name, _, _ := strings.Cut(m, ":")
		return name + ":0"
	})
}

// withLocalAddr marks r as received on addr, as net/http does.
func withLocalAddr(r *http.Request, addr net.Addr) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr))
}

// newServer serves w over real sockets, with requests that end with ctx.
func newServer(t *testing.T, w *world, ctx context.Context) *httptest.Server {
	server := httptest.NewUnstartedServer(w.handler)
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func benchServer(b *testing.B, models *fakeModels) string {
	server := httptest.NewServer(New(Options{Models: models}))
	b.Cleanup(server.Close)
	return server.URL
}
