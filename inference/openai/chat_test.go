package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"

	"dure/inference"
	"dure/inference/front"

	"github.com/google/go-cmp/cmp"
)

func TestWholeAnswer(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("a<b>&"), says("\u2028 끝"), done()))
	got := w.chat(hello)
	want := `{"id":0,"object":"chat.completion","created":0,"model":"small","system_fingerprint":"v1",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"a<b>&\u2028 끝","refusal":null},"logprobs":null,"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2},` +
		`"dure":{"queue_ms":1.5,"restore_ms":0,"prefill_ms":2.5,"decode_ms":3.5,"seed":0}}}` + "\n"
	if got.status != 200 || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("status %d, header %v", got.status, got.header)
	}
	if diff := cmp.Diff(want, steady(got.body)); diff != "" {
		t.Error(diff)
	}
	if o, r := w.models.Opened.Load(), w.models.Released.Load(); o != 1 || r != 1 {
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
		`"dure":{"queue_ms":1.5,"restore_ms":0,"prefill_ms":2.5,"decode_ms":3.5,"seed":0}}}`
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
	res, err := http.Post(w.URL+"/v1/chat/completions", "application/json", strings.NewReader(helloStream))
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
	defaults := w.models.Listings[0].Params
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
	w.models.Listings[0].Default = false
	w.chat(hello).wantError(t, 400, kindInvalid, "invalid_request", "model", "none is the default", "small, org/large")
}

func TestShuttingDown(t *testing.T) {
	closing := make(chan struct{})
	w := newWorld(t, script(nil, started(), done()), func(o *front.Options) { o.Closing = closing })
	if got := w.do("GET", "/health", ""); got.status != 200 || got.body != `{"status":"ok","version":"v1"}`+"\n" {
		t.Errorf("%d %s", got.status, got.body)
	}
	close(closing)
	if got := w.do("GET", "/health", ""); got.status != 503 || !strings.Contains(got.body, "shutting_down") {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.chat(hello).wantError(t, 503, kindServer, "shutting_down", "", "shutting down")
	if w.models.Opened.Load() != 0 {
		t.Error("a model was opened")
	}
}
