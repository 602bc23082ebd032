package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"dure/inference"
	"dure/inference/front"
)

// fakePool notes what it was told.
type fakePool struct {
	told []string
	err  error
}

func (p *fakePool) note(format string, args ...any) error {
	p.told = append(p.told, fmt.Sprintf(format, args...))
	return p.err
}

func (p *fakePool) Status() (json.RawMessage, error) {
	return json.RawMessage(`[{"name":"small"}]`), nil
}

func (p *fakePool) Load(_ context.Context, name string, keep time.Duration) error {
	return p.note("load %s %s", name, keep)
}

func (p *fakePool) Unload(_ context.Context, name string, atOnce bool) error {
	return p.note("unload %s %t", name, atOnce)
}

func (p *fakePool) Pause(_ context.Context, atOnce bool) error { return p.note("pause %t", atOnce) }

func (p *fakePool) Resume() []string { _ = p.note("resume"); return nil }

func TestPoolRoutes(t *testing.T) {
	pool := &fakePool{}
	w := newWorld(t, nil, func(o *front.Options) { o.Pool = pool })
	const listed = `{"object":"list","data":[{"name":"small"}]}` + "\n"
	for _, tc := range []struct{ method, path, body, told string }{
		{"GET", "models", "", ""},
		{"POST", "models/small/load", "", "load small 0s"},
		{"POST", "models/small/load", `{}`, "load small 0s"},
		{"POST", "models/small/load", `{"keep_alive":"1h30m"}`, "load small 1h30m0s"},
		{"POST", "models/org/large/load", `{"keep_alive":90}`, "load org/large 1m30s"},
		{"POST", "models/org/large/unload", `{"now":true}`, "unload org/large true"},
		{"POST", "models/small/unload", `{"now":false}`, "unload small false"},
		{"POST", "pause", "", "pause false"},
		{"POST", "pause", `{"now":true}`, "pause true"},
		{"POST", "resume", "", "resume"},
	} {
		pool.told = nil
		r := w.do(tc.method, "/v1/dure/"+tc.path, tc.body)
		if r.status != 200 || r.body != listed {
			t.Errorf("%+v: %d %s", tc, r.status, r.body)
		}
		if told := fmt.Sprint(pool.told); tc.told != "" && told != "["+tc.told+"]" || tc.told == "" && len(pool.told) > 0 {
			t.Errorf("%+v: the pool was told %s", tc, told)
		}
	}
}

func TestPoolRoutesRefuse(t *testing.T) {
	pool := &fakePool{}
	w := newWorld(t, nil, func(o *front.Options) { o.Pool = pool })
	w.do("POST", "/v1/dure/models/none/load", "").wantError(t, 404, kindInvalid, "model_not_found", "model", "small")
	w.do("POST", "/v1/dure/models/none/unload", "").wantError(t, 404, kindInvalid, "model_not_found", "model", "small")
	w.do("POST", "/v1/dure/models/small/load", `{"keep_alive":"soon"}`).wantError(t, 400, kindInvalid, "invalid_request", "keep_alive", "-1 for ever")
	w.do("POST", "/v1/dure/models/small/unload", `{"now":"yes"}`).wantError(t, 400, kindInvalid, "invalid_request", "now", "true or false")
	w.do("POST", "/v1/dure/pause", `[]`).wantError(t, 400, kindInvalid, "invalid_request", "", "expected an object")
	if len(pool.told) > 0 {
		t.Errorf("the pool was told %v", pool.told)
	}
	pool.err = &inference.Error{Code: inference.CodeLoadFailed, Message: "it failed 5 times lately", RetryAfter: 2 * time.Second}
	r := w.do("POST", "/v1/dure/models/small/load", "")
	r.wantError(t, 503, kindServer, "model_load_failed", "", "5 times")
	if after := r.header.Get("Retry-After"); after != "2" {
		t.Errorf("Retry-After is %q", after)
	}
	pool.err = errors.New("secret")
	w.do("POST", "/v1/dure/pause", "").wantError(t, 500, kindServer, "internal_error", "", "internal error")
	bare := newWorld(t, nil)
	for _, path := range []string{"models/small/load", "models/small/unload", "pause", "resume"} {
		bare.do("POST", "/v1/dure/"+path, "").wantError(t, 501, kindInvalid, "unsupported", "", "cannot be loaded")
	}
	closing := make(chan struct{})
	close(closing)
	ending := newWorld(t, nil, func(o *front.Options) { o.Pool, o.Closing = pool, closing })
	ending.do("POST", "/v1/dure/resume", "").wantError(t, 503, kindServer, "shutting_down", "", "")
}

// How long a model stays after a request is written as Ollama's clients write it.
func TestKeepAliveReachesTheModels(t *testing.T) {
	w := newWorld(t, script(nil, started(), says("x"), done()))
	const always = -time.Second
	for text, want := range map[string]time.Duration{
		`"5m"`: 5 * time.Minute, `"1h30m"`: 90 * time.Minute, `"90"`: 90 * time.Second, `90`: 90 * time.Second, `0.5`: 500 * time.Millisecond,
		`"0"`: inference.UnloadAtOnce, `0`: inference.UnloadAtOnce, `"0s"`: inference.UnloadAtOnce, `-1`: always, `"-1"`: always, `null`: 0,
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
			rest := map[string]string{"/v1/chat/completions": hello[1:], "/v1/completions": `"prompt":"a"}`}[path]
			w.models.Kept.Store(math.MaxInt64)
			if r := w.do("POST", path, `{"keep_alive":`+text+`,`+rest); r.status != 200 || time.Duration(w.models.Kept.Load()) != want {
				t.Errorf("%s %s: %d, kept for %s, want %s: %s", path, text, r.status, time.Duration(w.models.Kept.Load()), want, r.body)
			}
		}
	}
	if r := w.do("POST", "/v1/chat/completions", hello, "X-Dure-Keep-Alive", "10m"); r.status != 200 || time.Duration(w.models.Kept.Load()) != 10*time.Minute {
		t.Errorf("header: %d, kept for %s: %s", r.status, time.Duration(w.models.Kept.Load()), r.body)
	}
	for _, text := range []string{`"soon"`, `true`, `[]`, `1e300`, `""`} {
		w.chat(`{"keep_alive":`+text+`,`+hello[1:]).wantError(t, 400, kindInvalid, "invalid_request", "keep_alive", "")
	}
	w.do("POST", "/v1/chat/completions", `{"keep_alive":"5m",`+hello[1:], "X-Dure-Keep-Alive", "6m").
		wantError(t, 400, kindInvalid, "invalid_request", "keep_alive", "")
}
