package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"dure/inference"
)

func serve(t *testing.T, h http.HandlerFunc) *Model {
	t.Helper()
	url, client := faulty(t, h)
	return New(url, "secret", "m", client)
}

// faulty is a server whose answers are streams of events unless h says otherwise.
func faulty(t *testing.T, h http.HandlerFunc) (base string, client *http.Client) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1/", srv.Client()
}

func collect(ctx context.Context, m inference.Model) (text string, done inference.Event, err error) {
	for ev, err := range m.Generate(ctx, &inference.Request{ID: "r1", Messages: []inference.Message{{Role: "user", Content: "hi"}}}) {
		if err != nil {
			return text, done, err
		}
		text += ev.Text
		done = ev
	}
	return text, done, nil
}

func TestStream(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer secret" ||
			r.Header.Get("X-Request-Id") != "r1" || !strings.Contains(string(body), `"stream":true`) {
			t.Errorf("%s %v %s", r.URL, r.Header, body)
		}
		fmt.Fprint(w, ": ping\n\n"+
			`data: {"choices":[{"delta":{"role":"assistant"}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{"content":"a\u00e9"}}]}`+"\r\n\r\n"+
			`data: {"choices":[{"delta":{"content":"`+strings.Repeat("x", 100_000)+`"}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{},"finish_reason":"length"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2},`+
			`"dure":{"queue_ms":1,"restore_ms":2,"tier":"ram","reason":"new","break":{"position":5,"was":"a","is":"b"}}}}`+"\n\n"+
			"data: [DONE]\n\n")
	})
	text, done, err := collect(t.Context(), m)
	if err != nil || text != "aé"+strings.Repeat("x", 100_000) {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if done.Kind != inference.EventDone || done.Finish != inference.FinishLength || done.Usage.PromptTokens != 7 || done.Usage.CachedTokens != 2 {
		t.Errorf("%+v %+v", done, done.Usage)
	}
	want := inference.PrefixUsage{Tier: "ram", Reason: "new", Break: &inference.PrefixBreak{Position: 5, Was: "a", Is: "b"}}
	if u := done.Usage; u.QueueMS != 1 || u.RestoreMS != 2 || u.Prefix == nil || !reflect.DeepEqual(*u.Prefix, want) {
		t.Errorf("%+v %+v", u, u.Prefix)
	}
}

func TestErrors(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	ok := func(body string) http.HandlerFunc { return status(200, body) }
	for name, tc := range map[string]struct {
		h    http.HandlerFunc
		want error // nil = any
		text string
	}{
		"our code":        {status(400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`), inference.ErrContextExceeded, "too long"},
		"only a status":   {status(429, `{"error":{"message":"busy","code":429}}`), inference.ErrQueueFull, "busy"},
		"not JSON":        {status(502, `<html>bad gateway`), inference.ErrRunnerLost, "bad gateway"},
		"within a stream": {ok(`data: {"error":{"message":"gone","code":"runner_lost"}}` + "\n\n"), inference.ErrRunnerLost, "gone"},
		"truncated":       {ok(`data: {"choices":[]}` + "\n\n"), inference.ErrRunnerLost, "before the answer did"},
		"broken event":    {ok("data: {\n\n"), inference.ErrInternal, "cannot be read"},
		"endless line":    {ok("data: " + strings.Repeat("x", maxLine+100_000)), inference.ErrInternal, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := collect(t.Context(), serve(t, tc.h))
			if err == nil || (tc.want != nil && !errors.Is(err, tc.want)) || !strings.Contains(err.Error(), tc.text) {
				t.Fatalf("got %v", err)
			}
			var e *inference.Error
			if errors.As(err, &e) && e.Code == inference.CodeQueueFull && e.RetryAfter != 3*time.Second {
				t.Errorf("retry after %v", e.RetryAfter)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	gone := make(chan struct{})
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `data: {"choices":[{"delta":{"content":"a"}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for ev, err := range m.Generate(ctx, &inference.Request{}) {
		if last = err; ev.Text != "" {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("ended with %v", last)
	}
	<-gone
}
