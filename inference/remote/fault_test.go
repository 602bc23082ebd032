package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dure/inference"
)

// api is one of the two formats, with what a server that speaks it says.
type api struct {
	name   string
	make   func(Endpoint, *http.Client) *Model
	begin  string // of a stream, up to half of a call's arguments
	whole  string // the rest
	ping   string
	failed string // an event that says the server is too busy
}

var apis = []api{{
	"openai", OpenAI,
	`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":"{\"x\""}}]}}]}` + "\n\n",
	`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n",
	": ping\n\n",
	`data: {"error":{"message":"too many","type":"rate_limit_error","code":429}}` + "\n\n",
}, {
	"anthropic", Anthropic,
	`data: {"type":"message_start","message":{"usage":{"input_tokens":3}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"look","input":{}}}` + "\n\n" +
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}` + "\n\n",
	`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":":1}"}}` + "\n\n" +
		`data: {"type":"content_block_stop","index":0}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}` + "\n\n" +
		`data: {"type":"message_stop"}` + "\n\n",
	"event: ping\ndata: {\"type\": \"ping\"}\n\n",
	`data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n",
}}

// secret is a key that no error may show.
const secret = "sk-very-secret-0123456789"

// ask makes one request of a server and returns what came.
func (a api) ask(t *testing.T, limits Limits, h http.HandlerFunc) (events []inference.Event, err error) {
	t.Helper()
	base, client := faulty(t, h)
	return answered(t.Context(), a.make(Endpoint{Base: base, Key: NewKey(secret), Model: "m", MaxTokens: 100, Limits: limits}, client))
}

func answered(ctx context.Context, m inference.Model) (events []inference.Event, err error) {
	for ev, err := range m.Generate(ctx, &inference.Request{Params: inference.DefaultParams(), Messages: []inference.Message{{Role: "user", Content: "hi"}}}) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

func (a api) writes(texts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, text := range texts {
			_, _ = io.WriteString(w, text)
		}
	}
}

// stalls writes, and then nothing until the client is gone.
func stalls(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// dribbles writes the same again and again, until the client is gone.
func dribbles(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				_, _ = io.WriteString(w, text)
				w.(http.Flusher).Flush()
			}
		}
	}
}

func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// A limit that has to strike is short; the others are far.
var (
	far   = Limits{FirstByte: time.Minute, Silence: time.Minute, Total: time.Minute}
	first = Limits{FirstByte: 20 * time.Millisecond, Silence: time.Minute, Total: time.Minute}
	quiet = Limits{FirstByte: time.Minute, Silence: 20 * time.Millisecond, Total: time.Minute}
	total = Limits{FirstByte: time.Minute, Silence: time.Minute, Total: 20 * time.Millisecond}
)

func TestFaults(t *testing.T) {
	for _, a := range apis {
		for _, tc := range []struct {
			name   string
			limits Limits
			h      http.HandlerFunc
			kind   Kind
			code   error
			says   string
		}{
			{"garbage", far, a.writes("hello\nworld\n"), Garbled, inference.ErrInternal, "hello"},
			{"no JSON", far, a.writes("data: {\n\n"), Garbled, inference.ErrInternal, "cannot be read"},
			{"another kind of body", far, status(200, `{"choices":[]}`), Garbled, inference.ErrInternal, "application/json"},
			{"no kind of body", far, status(200, `<html>`, "Content-Type", ""), Garbled, inference.ErrInternal, "<html>"},
			{"empty", far, a.writes(), Cut, inference.ErrRunnerLost, "ended before"},
			{"cut in a call", far, a.writes(a.begin), Cut, inference.ErrRunnerLost, "ended before"},
			{"torn in a call", far, func(w http.ResponseWriter, _ *http.Request) {
				a.writes(a.begin)(w, nil)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}, Cut, inference.ErrRunnerLost, "broke off"},
			{"nothing at all", first, stalls(""), Late, inference.ErrRunnerLost, "nothing came within"},
			{"headers only", first, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200); stalls("")(w, r) }, Late, inference.ErrRunnerLost, "nothing came within"},
			{"stall", quiet, stalls(a.begin), Late, inference.ErrRunnerLost, "nothing more came"},
			{"slow loris", quiet, func(w http.ResponseWriter, r *http.Request) { a.writes(a.begin)(w, r); dribbles("x")(w, r) }, Late, inference.ErrRunnerLost, "nothing more came"},
			{"pings for ever", total, dribbles(a.ping), Overdue, inference.ErrDeadline, "not whole after"},
			{"huge line", Limits{Line: 1000}, a.writes("data: " + strings.Repeat("x", 2000)), Garbled, inference.ErrInternal, "longer than 1000"},
			{"huge body", Limits{Body: 1000}, dribbles(a.ping), Garbled, inference.ErrInternal, "longer than 1000"},
			{"429", far, status(429, `{"error":{"message":"slow down"}}`, "Retry-After", "3"), Busy, inference.ErrQueueFull, "slow down"},
			{"429 without words", far, status(429, `busy`), Busy, inference.ErrQueueFull, "429"},
			{"no money left", far, status(429, `{"error":{"message":"pay","code":"insufficient_quota"}}`), Refused, inference.ErrInvalidRequest, "pay"},
			{"500", far, status(500, `{"error":{"message":"oops","type":"api_error"}}`), Failed, inference.ErrInternal, "oops"},
			{"502", far, status(502, `<html>`), Failed, inference.ErrRunnerLost, "502"},
			{"503", far, status(503, `{"error":{"message":"Loading model","code":503}}`), Failed, inference.ErrRunnerLost, "Loading"},
			{"529", far, status(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), Busy, inference.ErrQueueFull, "Overloaded"},
			{"401 that shows the key", far, status(401, `{"error":{"message":"bad key `+secret+`"}}`), Refused, inference.ErrInvalidRequest, "bad key [key]"},
			{"401 that shows the key at a cut", far, status(401, strings.Repeat("x", 190)+secret), Refused, inference.ErrInvalidRequest, "xxx"},
			{"404", far, status(404, `{"error":{"message":"no such model","type":"not_found_error"}}`), Refused, inference.ErrModelNotFound, "no such model"},
			{"too long", far, status(400, `{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}`), Refused, inference.ErrContextExceeded, "too long"},
			{"elsewhere", far, status(307, "", "Location", "https://other.example/v1"), Refused, inference.ErrInvalidRequest, "other.example"},
			{"too busy in the stream", far, a.writes(a.failed), Busy, inference.ErrQueueFull, ""},
			{"an echo of the key in the stream", far, a.writes("data: {" + secret + "\n\n"), Garbled, inference.ErrInternal, "[key]"},
			{"whole, and no reason", far, a.writes("data: {\"type\":\"message_start\"}\n\ndata: {\"type\":\"message_stop\"}\n\ndata: [DONE]\n\n"), Garbled, inference.ErrInternal, "not why"},
		} {
			t.Run(a.name+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				events, err := a.ask(t, tc.limits, tc.h)
				var e *Error
				if !errors.As(err, &e) || e.Kind != tc.kind || !errors.Is(err, tc.code) || !strings.Contains(err.Error(), tc.says) {
					t.Fatalf("got %#v (%v), want %s, %v, %q", err, err, tc.kind, tc.code, tc.says)
				}
				if tc.name == "429" && e.Cause.RetryAfter != 3*time.Second {
					t.Errorf("retry after %v", e.Cause.RetryAfter)
				}
				if shown := fmt.Sprintf("%v %+v %#v", err, *e, *e.Cause); strings.Contains(shown, secret) || strings.Contains(shown, secret[:8]) {
					t.Errorf("the key is shown: %s", shown)
				}
				for _, ev := range events {
					if ev.Kind == inference.EventDone {
						t.Errorf("a finished answer: %+v", events)
					}
				}
			})
		}
	}
}

func TestWholeAnswer(t *testing.T) {
	for _, a := range apis {
		for _, eol := range []string{"\n", "\r\n"} {
			events, err := a.ask(t, far, a.writes(strings.ReplaceAll(a.ping+a.begin+a.ping+a.whole, "\n", eol)))
			arguments := ""
			for _, ev := range events {
				if ev.Call != nil {
					arguments += ev.Call.Arguments
				}
			}
			if last := events[len(events)-1]; err != nil || arguments != `{"x":1}` || last.Kind != inference.EventDone || last.Finish != inference.FinishToolCalls || events[1].Call.Name != "look" {
				t.Errorf("%s: %+v, %v", a.name, events, err)
			}
		}
	}
}

// A connection that was kept and is closed as it is used again costs no answer; one
// that breaks at once does.
func TestKeptConnectionIsClosed(t *testing.T) {
	for _, a := range apis {
		last, broken := "", 0
		base, client := faulty(t, func(w http.ResponseWriter, r *http.Request) {
			if _, sent := r.Header["Idempotency-Key"]; sent {
				t.Error("a key was sent")
			}
			if kept := r.RemoteAddr == last; kept {
				broken++
				panic(http.ErrAbortHandler)
			}
			last = r.RemoteAddr
			a.writes(a.begin, a.whole)(w, r)
		})
		m := a.make(Endpoint{Base: base, Model: "m", MaxTokens: 100, Limits: far}, client)
		for range 3 {
			if events, err := answered(t.Context(), m); err != nil || events[len(events)-1].Kind != inference.EventDone {
				t.Errorf("%s: %+v, %v", a.name, events, err)
			}
		}
		if broken != 2 {
			t.Errorf("%s: %d kept connections broke, of 2", a.name, broken)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, a := range apis {
		for base, want := range map[string]Kind{srv.URL: Untrusted, gone.URL: Unreachable, "http://no.such.host.invalid": Refused} {
			_, err := answered(t.Context(), a.make(Endpoint{Base: base, MaxTokens: 9}, http.DefaultClient))
			var e *Error
			if !errors.As(err, &e) || e.Kind != want {
				// A resolver that answers nothing cannot tell that there is no such host.
				if want == Refused && e != nil && e.Kind == Unreachable {
					continue
				}
				t.Errorf("%s at %s: %v", a.name, base, err)
			}
		}
	}
}

// A redirect is not followed: nobody else sees the key.
func TestKeyStaysAtItsEndpoint(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked with %v", r.Header) }))
	defer other.Close()
	for _, a := range apis {
		var sent http.Header
		_, err := a.ask(t, far, func(w http.ResponseWriter, r *http.Request) {
			sent = r.Header
			http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
		})
		if err == nil || sent.Get("Authorization") != "Bearer "+secret && sent.Get("X-Api-Key") != secret {
			t.Errorf("%s: %v, %v", a.name, sent, err)
		}
	}
}

func TestCancelClosesTheConnection(t *testing.T) {
	for _, a := range apis {
		for name, leave := range map[string]bool{"leave": true, "cancel": false} {
			gone := make(chan struct{})
			base, client := faulty(t, func(w http.ResponseWriter, r *http.Request) {
				stalls(a.begin)(w, r)
				close(gone)
			})
			ctx, cancel := context.WithCancel(t.Context())
			var last error
			for ev, err := range a.make(Endpoint{Base: base, MaxTokens: 9}, client).Generate(ctx, &inference.Request{Params: inference.DefaultParams(), Messages: []inference.Message{{Role: "user", Content: "hi"}}}) {
				last = err
				if ev.Call == nil {
					continue
				}
				if leave {
					break
				}
				cancel()
			}
			if !leave && !errors.Is(last, context.Canceled) {
				t.Errorf("%s, %s: %v", a.name, name, last)
			}
			<-gone
			cancel()
		}
	}
}
