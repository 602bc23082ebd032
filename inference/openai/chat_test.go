package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"dure/inference"

	"github.com/google/go-cmp/cmp"
)

func TestWholeAnswer(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("a<b>&"), says("\u2028 끝"), done()))
	got := w.chat(hello)
	want := `{"id":0,"object":"chat.completion","created":0,"model":"small","system_fingerprint":"v1",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"a<b>&\u2028 끝","refusal":null},"logprobs":null,"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2},` +
		`"dure":{"queue_ms":1.5,"prefill_ms":2.5,"decode_ms":3.5,"seed":0}}}` + "\n"
	if got.status != 200 || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d, header %v", got.status, got.header)
	}
	if diff := cmp.Diff(want, steady(got.body)); diff != "" {
		t.Error(diff)
	}
	if o, r := w.models.opened.Load(), w.models.released.Load(); o != 1 || r != 1 {
		t.Errorf("opened %d, released %d", o, r)
	}
}

func chunkJSON(rest string) string {
	return `{"id":0,"object":"chat.completion.chunk","created":0,"model":"small","system_fingerprint":"v1",` + rest
}

func deltaJSON(delta, finish string) string {
	return chunkJSON(`"choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}]`)
}

func TestStreamedAnswer(t *testing.T) {
	const usage = `,"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2},` +
		`"dure":{"queue_ms":1.5,"prefill_ms":2.5,"decode_ms":3.5,"seed":0}}}`
	role, one, two, end := deltaJSON(`{"role":"assistant","content":""}`, "null"), deltaJSON(`{"content":"a\"b"}`, "null"),
		deltaJSON(`{"content":"<\n"}`, "null"), deltaJSON(`{}`, `"stop"`)
	const null = `,"usage":null}`
	tests := []struct {
		name, fields string
		want         []string
	}{
		{"plain", ``, []string{role + "}", one + "}", two + "}", end + "}", "[DONE]"}},
		{"usage", `"stream_options":{"include_usage":true},`, []string{
			role + null, one + null, two + null, end + null, chunkJSON(`"choices":[]`) + usage, "[DONE]"}},
		{"warnings", `"foo":[1,{"a":2}],`, []string{role + "}", one + "}", two + "}",
			end + `,"warnings":["foo: unknown field, ignored"]}`, "[DONE]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, script(nil, started(), says("a\"b"), says(""), says("<\n"), done()))
			got := w.chat(`{"stream":true,` + tt.fields + `"messages":[{"role":"user","content":"hi"}]}`)
			if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("status %d, header %v", got.status, got.header)
			}
			if diff := cmp.Diff(tt.want, events(t, steady(got.body))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The client has an event before the model makes the next one.
func TestEventsAreNotHeldBack(t *testing.T) {
	next := make(chan string)
	w := newWorld(t, func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			yield(started(), nil)
			for s := range next {
				yield(says(s), nil)
			}
			yield(done(), nil)
		}
	})
	res, err := http.Post(w.url+"/v1/chat/completions", "application/json", strings.NewReader(helloStream))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	read := func(want string) {
		t.Helper()
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Fatalf("got %q, %v", line, err)
		}
		lines.ReadString('\n')
	}
	read(`"role":"assistant"`)
	for i := range 3 {
		s := fmt.Sprint("piece", i)
		next <- s
		read(s)
	}
	close(next)
	read(`"stop"`)
}

func TestRequestReachesModel(t *testing.T) {
	got := make(chan *inference.Request, 1)
	generate := func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		got <- req
		return script(nil, started(), done())(nil, nil)
	}
	w := newWorld(t, generate)
	system := inference.Message{Role: "system", Content: "be\nbrief"}
	user := inference.Message{Role: "user", Content: "hi", Name: "Ann"}
	const messages = `"messages":[{"role":"developer","content":[{"type":"text","text":"be"},{"text":"brief","type":"text"}]},
		{"role":"user","content":"hi","name":"Ann"}]`
	defaults := w.models.list[0].Params
	tests := []struct {
		name, fields string
		change       func(*inference.Params)
	}{
		{"defaults of the entry", ``, func(p *inference.Params) {}},
		{"null is absent", `"temperature":null,"stop":null,"model":null,"stream":null,`, func(p *inference.Params) {}},
		{"all", `"temperature":0,"top_p":0.25,"top_k":5,"min_p":0.125,"max_tokens":9,"ignore_eos":true,"stop":["a","b"],`,
			func(p *inference.Params) {
				*p = inference.Params{TopP: 0.25, TopK: 5, MinP: 0.125, MaxTokens: 9, IgnoreEOS: true, Stop: []string{"a", "b"}}
			}},
		{"one stop", `"stop":"x",`, func(p *inference.Params) { p.Stop = []string{"x"} }},
		{"newer name", `"max_completion_tokens":5,`, func(p *inference.Params) { p.MaxTokens = 5 }},
		{"both names", `"max_completion_tokens":5,"max_tokens":5,`, func(p *inference.Params) { p.MaxTokens = 5 }},
		{"no limit", `"max_tokens":-1,`, func(p *inference.Params) { p.MaxTokens = 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			params := defaults
			params.Seed = 5
			seed := `"seed":5,`
			tt.change(&params)
			params.Seed = 5
			res := w.do("POST", "/v1/chat/completions", `{`+tt.fields+seed+messages+`}`, "X-Request-Id", "abc-1")
			if res.status != 200 {
				t.Fatal(res.body)
			}
			want := &inference.Request{ID: "abc-1", Messages: []inference.Message{system, user}, Params: params}
			if diff := cmp.Diff(want, <-got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(res.body, `"seed":5}`) {
				t.Errorf("seed is not told: %s", res.body)
			}
		})
	}
}

func TestSeedIsDrawnWhereNoneIsGiven(t *testing.T) {
	var seeds []uint64
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		seeds = append(seeds, req.Params.Seed)
		return script(nil, started(), done())(nil, nil)
	})
	w.chat(hello)
	told := w.chat(hello).body
	if seeds[0] == seeds[1] || seeds[1] >= 1<<53 {
		t.Errorf("seeds %v", seeds)
	}
	if want := fmt.Sprintf(`"seed":%d}`, seeds[1]); !strings.Contains(told, want) {
		t.Errorf("no %s in %s", want, told)
	}
}

func TestErrorsBeforeTheFirstByte(t *testing.T) {
	tests := []struct {
		err               error
		status            int
		kind, code, param string
		message           string
		header, value     string
	}{
		{&inference.Error{Code: inference.CodeInvalidRequest, Message: "top_k too large", Param: "top_k"},
			400, kindInvalid, "invalid_request", "top_k", "top_k too large", "", ""},
		{&inference.Error{Code: inference.CodeUnsupported, Message: "no"}, 400, kindInvalid, "unsupported_parameter", "", "no", "", ""},
		{&inference.Error{Code: inference.CodeModelNotFound, Message: "gone"}, 404, kindInvalid, "model_not_found", "", "gone", "", ""},
		{&inference.Error{Code: inference.CodeContextExceeded, Message: "3000 tokens over 2048; message 4 is the largest", PromptTokens: 3000},
			400, kindInvalid, "context_length_exceeded", "", "message 4", "", ""},
		{&inference.Error{Code: inference.CodeQueueFull, Message: "full", RetryAfter: 1200 * time.Millisecond},
			429, kindLimit, "queue_full", "", "full", "Retry-After", "2"},
		{&inference.Error{Code: inference.CodeQueueFull, Message: "full"}, 429, kindLimit, "queue_full", "", "full", "Retry-After", "1"},
		{&inference.Error{Code: inference.CodeRunnerLost, Message: "died"}, 502, kindServer, "runner_lost", "", "died", "", ""},
		{&inference.Error{Code: inference.CodeLoadFailed, Message: "no such file"}, 503, kindServer, "model_load_failed", "", "no such file", "X-Should-Retry", "false"},
		{&inference.Error{Code: inference.CodeShuttingDown, Message: "bye"}, 503, kindServer, "shutting_down", "", "bye", "", ""},
		{&inference.Error{Code: inference.CodeInternal, Message: "secret"}, 500, kindServer, "internal_error", "", "rid-9", "", ""},
		{&inference.Error{Code: "never heard of", Message: "secret"}, 500, kindServer, "internal_error", "", "rid-9", "", ""},
		{errors.New("secret"), 500, kindServer, "internal_error", "", "rid-9", "", ""},
		{fmt.Errorf("wrapped: %w", inference.ErrRunnerLost), 502, kindServer, "runner_lost", "", "runner_lost", "", ""},
	}
	for _, tt := range tests {
		for _, where := range []string{"open", "generate"} {
			for _, body := range []string{hello, helloStream} {
				t.Run(fmt.Sprint(tt.code, "/", where), func(t *testing.T) {
					w := newWorld(t, script(tt.err))
					if where == "open" {
						w.models.open = func(context.Context, string) error { return tt.err }
					}
					got := w.do("POST", "/v1/chat/completions", body, "X-Request-Id", "rid-9")
					got.wantError(t, tt.status, tt.kind, tt.code, tt.param, tt.message)
					if got.header.Get("X-Request-Id") != "rid-9" || tt.header != "" && got.header.Get(tt.header) != tt.value {
						t.Errorf("header %v", got.header)
					}
					if strings.Contains(got.body, "secret") {
						t.Errorf("internals are told: %s", got.body)
					}
					line := w.lines()[0]
					if tt.status == 500 && !strings.Contains(fmt.Sprint(line["err"]), "secret") && !strings.Contains(fmt.Sprint(line["err"]), "internal") {
						t.Errorf("internals are lost: %v", line)
					}
					if w.models.opened.Load() != w.models.released.Load() {
						t.Error("the model was not given back")
					}
					if m := fmt.Sprintf(`dure_http_failures_total{code="%s",route="/v1/chat/completions"}`, tt.code); w.metric(m) != "1" {
						t.Errorf("%s is not 1", m)
					}
				})
			}
		}
	}
}

func TestErrorInsideAStream(t *testing.T) {
	lost := &inference.Error{Code: inference.CodeRunnerLost, Message: "the model's process died"}
	w := newWorld(t, script(lost, started(), says("one")))
	got := w.chat(helloStream)
	all := events(t, got.body)
	if got.status != 200 || got.err != nil || len(all) != 3 {
		t.Fatalf("status %d, %v, events %q", got.status, got.err, all)
	}
	wantErrorObject(t, all[2], kindServer, "runner_lost", "", "process died")
	if v := w.metric(`dure_http_failures_total{code="runner_lost",route="/v1/chat/completions"}`); v != "1" {
		t.Errorf("failures %q", v)
	}
	// The same failure, not streamed, is a status.
	w.chat(hello).wantError(t, 502, kindServer, "runner_lost", "", "process died")
}

func TestModelThatBreaksItsContract(t *testing.T) {
	for name, generate := range map[string]generateFunc{
		"nothing":       script(nil),
		"no end":        script(nil, started(), says("x")),
		"no start":      script(nil, says("x"), done()),
		"two starts":    script(nil, started(), started(), done()),
		"unknown event": script(nil, started(), inference.Event{Kind: "reasoning"}, done()),
		"only the end":  script(nil, done()),
		"no reason":     script(nil, started(), inference.Event{Kind: inference.EventDone}),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, generate)
			w.chat(hello).wantError(t, 500, kindServer, "internal_error", "", "internal error")
			streamed := w.chat(helloStream)
			if strings.Contains(streamed.body, "[DONE]") || !strings.Contains(streamed.body, "internal_error") {
				t.Errorf("got %s", streamed.body)
			}
		})
	}
}

// What a model sends after its last event changes no answer that is out.
func TestModelThatGoesOn(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("x"), done(), says("y")))
	got := w.chat(hello)
	if got.status != 200 || got.err != nil || !strings.Contains(got.body, `"content":"x"`) || strings.Contains(got.body, "error") {
		t.Errorf("%+v", got)
	}
	if line := w.lines()[0]; line["level"] != "ERROR" || line["code"] != "internal_error" {
		t.Errorf("log line %v", line)
	}
}

func TestPanic(t *testing.T) {
	crash := func(first ...inference.Event) generateFunc {
		return func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
			return func(yield func(inference.Event, error) bool) {
				for _, ev := range first {
					yield(ev, nil)
				}
				panic("secret")
			}
		}
	}
	w := newWorld(t, crash())
	got := w.chat(hello)
	got.wantError(t, 500, kindServer, "internal_error", "", "internal error")
	if strings.Contains(got.body, "secret") {
		t.Error(got.body)
	}
	line := w.lines()[0]
	if text := fmt.Sprint(line["err"]); line["level"] != "ERROR" || !strings.Contains(text, "secret") || !strings.Contains(text, "chat_test.go") {
		t.Errorf("no stack in %v", line)
	}
	if w.models.released.Load() != 1 {
		t.Error("the model was not given back")
	}
	// Inside a stream the connection is cut: the client must not take what it
	// has for the whole.
	w.models.generate = crash(started(), says("x"))
	if got := w.chat(helloStream); got.err == nil {
		t.Errorf("the stream ended as if whole: %q", got.body)
	}
	w.models.generate = script(nil, started(), done())
	if got := w.chat(hello); got.status != 200 {
		t.Errorf("the server did not live on: %v", got)
	}
}

func TestModelNames(t *testing.T) {
	w := newWorld(t, script(nil, started(), done()))
	body := func(model string) string {
		return `{"model":` + model + `,"messages":[{"role":"user","content":"hi"}]}`
	}
	w.chat(body(`"nope"`)).wantError(t, 404, kindInvalid, "model_not_found", "model", `"nope"`, "small, org/large")
	for model, want := range map[string]string{`"org/large"`: "org/large", `""`: "small", `null`: "small", `"small"`: "small"} {
		var got struct{ Model string }
		if err := json.Unmarshal([]byte(w.chat(body(model)).body), &got); err != nil || got.Model != want {
			t.Errorf("%s: %q, %v", model, got.Model, err)
		}
	}
	w.models.list[0].Default = false
	w.chat(hello).wantError(t, 400, kindInvalid, "invalid_request", "model", "none is the default", "small, org/large")
}

func TestShuttingDown(t *testing.T) {
	closing := make(chan struct{})
	w := newWorld(t, script(nil, started(), done()), func(o *Options) { o.Closing = closing })
	if got := w.do("GET", "/health", ""); got.status != 200 || got.body != `{"status":"ok","version":"v1"}`+"\n" {
		t.Errorf("%d %s", got.status, got.body)
	}
	close(closing)
	if got := w.do("GET", "/health", ""); got.status != 503 || !strings.Contains(got.body, "shutting_down") {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.chat(hello).wantError(t, 503, kindServer, "shutting_down", "", "shutting down")
	if w.models.opened.Load() != 0 {
		t.Error("a model was opened")
	}
}
