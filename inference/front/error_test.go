package front_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"dure/inference"
)

func TestErrorsBeforeTheFirstByte(t *testing.T) {
	tests := []struct {
		err           error
		status        int
		code, param   string
		message       string
		header, value string
	}{
		{&inference.Error{Code: inference.CodeInvalidRequest, Message: "top_k too large", Param: "top_k"},
			400, "invalid_request", "top_k", "top_k too large", "", ""},
		{&inference.Error{Code: inference.CodeUnsupported, Message: "no"}, 400, "unsupported_parameter", "", "no", "", ""},
		{&inference.Error{Code: inference.CodeModelNotFound, Message: "gone"}, 404, "model_not_found", "", "gone", "", ""},
		{&inference.Error{Code: inference.CodeContextExceeded, Message: "3000 tokens over 2048; message 4 is the largest", PromptTokens: 3000},
			400, "context_length_exceeded", "", "message 4", "", ""},
		{&inference.Error{Code: inference.CodeQueueFull, Message: "full", RetryAfter: 1200 * time.Millisecond},
			429, "queue_full", "", "full", "Retry-After", "2"},
		{&inference.Error{Code: inference.CodeQueueFull, Message: "full"}, 429, "queue_full", "", "full", "Retry-After", "1"},
		{&inference.Error{Code: inference.CodeRunnerLost, Message: "died"}, 502, "runner_lost", "", "died", "", ""},
		{&inference.Error{Code: inference.CodeLoadFailed, Message: "no such file"}, 503, "model_load_failed", "", "no such file", "X-Should-Retry", "false"},
		{&inference.Error{Code: inference.CodeShuttingDown, Message: "bye"}, 503, "shutting_down", "", "bye", "", ""},
		{&inference.Error{Code: inference.CodeInternal, Message: "secret"}, 500, "internal_error", "", "rid-9", "", ""},
		{&inference.Error{Code: "never heard of", Message: "secret"}, 500, "internal_error", "", "rid-9", "", ""},
		{errors.New("secret"), 500, "internal_error", "", "rid-9", "", ""},
		{fmt.Errorf("wrapped: %w", inference.ErrRunnerLost), 502, "runner_lost", "", "runner_lost", "", ""},
	}
	for _, tt := range tests {
		for _, where := range []string{"open", "generate"} {
			for _, body := range []string{hello, helloStream} {
				t.Run(fmt.Sprint(tt.code, "/", where), func(t *testing.T) {
					w := newWorld(t, script(tt.err))
					if where == "open" {
						w.models.OnOpen = func(context.Context, string) error { return tt.err }
					}
					got := w.do("POST", "/say", body, "X-Request-Id", "rid-9")
					got.wantError(t, tt.status, tt.code, tt.param, tt.message)
					if got.Header.Get("X-Request-Id") != "rid-9" || tt.header != "" && got.Header.Get(tt.header) != tt.value {
						t.Errorf("header %v", got.Header)
					}
					if strings.Contains(got.Body, "secret") {
						t.Errorf("internals are told: %s", got.Body)
					}
					line := w.Lines()[0]
					if tt.status == 500 && !strings.Contains(fmt.Sprint(line["err"]), "secret") && !strings.Contains(fmt.Sprint(line["err"]), "internal") {
						t.Errorf("internals are lost: %v", line)
					}
					if w.models.Opened.Load() != w.models.Released.Load() {
						t.Error("the model was not given back")
					}
					if m := fmt.Sprintf(`dure_http_failures_total{code="%s",route="/say"}`, tt.code); w.Metric(m) != "1" {
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
	got := w.say(helloStream)
	all := events(t, got.Body)
	if got.Status != 200 || got.Err != nil || len(all) != 3 {
		t.Fatalf("status %d, %v, events %q", got.Status, got.Err, all)
	}
	wantErrorObject(t, all[2], "runner_lost", "", "process died")
	if v := w.Metric(`dure_http_failures_total{code="runner_lost",route="/say"}`); v != "1" {
		t.Errorf("failures %q", v)
	}
	// The same failure, not streamed, is a status.
	w.say(hello).wantError(t, 502, "runner_lost", "", "process died")
}

func TestModelThatBreaksItsContract(t *testing.T) {
	for name, generate := range map[string]generateFunc{
		"nothing":       script(nil),
		"no end":        script(nil, started(), says("x")),
		"no start":      script(nil, says("x"), done()),
		"two starts":    script(nil, started(), started(), done()),
		"unknown event": script(nil, started(), inference.Event{Kind: "hunch", Text: "x"}, done()),
		"empty call":    script(nil, started(), inference.Event{Kind: inference.EventToolCall}, done()),
		"only the end":  script(nil, done()),
		"no reason":     script(nil, started(), inference.Event{Kind: inference.EventDone}),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, generate)
			w.say(hello).wantError(t, 500, "internal_error", "", "internal error")
			streamed := w.say(helloStream)
			if strings.Contains(streamed.Body, "[DONE]") || !strings.Contains(streamed.Body, "internal_error") {
				t.Errorf("got %s", streamed.Body)
			}
		})
	}
}

// What a model sends after its last event changes no answer that is out.
func TestModelThatGoesOn(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("x"), done(), says("y")))
	got := w.say(hello)
	if got.Status != 200 || got.Err != nil || !strings.Contains(got.Body, `"text":"x"`) || strings.Contains(got.Body, "error") {
		t.Errorf("%+v", got)
	}
	if line := w.Lines()[0]; line["level"] != "ERROR" || line["code"] != "internal_error" {
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
	got := w.say(hello)
	got.wantError(t, 500, "internal_error", "", "internal error")
	if strings.Contains(got.Body, "secret") {
		t.Error(got.Body)
	}
	line := w.Lines()[0]
	if text := fmt.Sprint(line["err"]); line["level"] != "ERROR" || !strings.Contains(text, "secret") || !strings.Contains(text, "error_test.go") {
		t.Errorf("no stack in %v", line)
	}
	if w.models.Released.Load() != 1 {
		t.Error("the model was not given back")
	}
	// Inside a stream the connection is cut: the client must not take what it
	// has for the whole.
	w.models.Generate = crash(started(), says("x"))
	if got := w.say(helloStream); got.Err == nil {
		t.Errorf("the stream ended as if whole: %q", got.Body)
	}
	w.models.Generate = script(nil, started(), done())
	if got := w.say(hello); got.Status != 200 {
		t.Errorf("the server did not live on: %v", got)
	}
}
