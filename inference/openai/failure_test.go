package openai

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
)

// Every failure has OpenAI's form, with the type that its status says.
func TestFormOfFailures(t *testing.T) {
	w := newWorld(t, nil, func(o *front.Options) { o.Keys = fronttest.OneKey("k") })
	w.chat(hello).wantError(t, 401, kindInvalid, "invalid_api_key", "", "API key")
	for _, tt := range []struct {
		code   inference.Code
		status int
		kind   string
	}{
		{inference.CodeInvalidRequest, 400, kindInvalid},
		{inference.CodeUnsupported, 400, kindInvalid},
		{inference.CodeModelNotFound, 404, kindInvalid},
		{inference.CodeContextExceeded, 400, kindInvalid},
		{inference.CodeQueueFull, 429, kindLimit},
		{inference.CodeRunnerLost, 502, kindServer},
		{inference.CodeLoadFailed, 503, kindServer},
		{inference.CodeDeadline, 504, kindServer},
		{inference.CodeAgentStopped, 409, kindInvalid},
		{inference.CodeShuttingDown, 503, kindServer},
		{inference.CodeInternal, 500, kindServer},
	} {
		err := &inference.Error{Code: tt.code, Message: "so it is", Param: "a.b", RetryAfter: time.Second}
		message, param := "so it is", "a.b"
		if tt.status == 500 {
			message, param = "internal error", ""
		}
		w := newWorld(t, script(err))
		for _, body := range []string{hello, helloStream} {
			w.chat(body).wantError(t, tt.status, tt.kind, string(tt.code), param, message)
		}
		// Once a stream has begun, the failure is its last event.
		w.models.Generate = script(err, started(), says("one"))
		got := w.chat(helloStream)
		all := events(t, got.body)
		if got.status != 200 || got.err != nil || len(all) != 3 {
			t.Fatalf("status %d, %v, events %q", got.status, got.err, all)
		}
		wantErrorObject(t, all[2], tt.kind, string(tt.code), param, message)
	}
	bare := newWorld(t, nil)
	bare.do("POST", "/v1/dure/pause", "").wantError(t, 501, kindInvalid, "unsupported", "", "cannot be loaded")
	bare.do("GET", "/nope", "").wantError(t, 404, kindInvalid, "unknown_url", "", "POST /v1/chat/completions")
	// A refusal says what to do.
	bare.chat(strings.Repeat(" ", front.MaxBody+1)).wantError(t, 413, kindInvalid, "request_too_large", "", "send less text")
}

// wantError checks a reply in OpenAI's error shape.
func (r reply) wantError(t *testing.T, status int, kind, code, param string, message ...string) {
	t.Helper()
	if r.err != nil {
		t.Fatal(r.err)
	}
	if r.status != status {
		t.Errorf("status %d, want %d: %s", r.status, status, r.body)
	}
	wantErrorObject(t, r.body, kind, code, param, message...)
}

func wantErrorObject(t *testing.T, body, kind, code, param string, message ...string) {
	t.Helper()
	var got struct {
		Error map[string]any `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, name := range []string{"message", "type", "param", "code"} {
		if _, ok := got.Error[name]; !ok {
			t.Errorf("no %s in %s", name, body)
		}
	}
	gotParam, _ := got.Error["param"].(string)
	if got.Error["type"] != kind || got.Error["code"] != code || gotParam != param {
		t.Errorf("got %s, want type %s code %s param %q", body, kind, code, param)
	}
	text, _ := got.Error["message"].(string)
	for _, m := range message {
		if !strings.Contains(text, m) {
			t.Errorf("message %q lacks %q", text, m)
		}
	}
}
