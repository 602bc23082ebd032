package openai

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"

	"dure/inference"
)

// untilCancelled yields events, tells on ready, then waits for the cancel and
// tells on ended.
func untilCancelled(ready, ended chan<- struct{}, events ...inference.Event) generateFunc {
	return func(ctx context.Context, _ *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			defer func() { ended <- struct{}{} }()
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			ready <- struct{}{}
			<-ctx.Done()
			yield(inference.Event{}, ctx.Err())
		}
	}
}

func TestClientLeaves(t *testing.T) {
	tests := []struct {
		phase  string
		stream bool
		events []inference.Event
	}{
		{"load", false, nil},
		{"prompt", false, nil},
		{"prompt", false, []inference.Event{started()}},
		{"prompt", true, []inference.Event{started()}},
		{"decode", true, []inference.Event{started(), says("x")}},
		{"decode", false, []inference.Event{started(), says("x")}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s stream=%v after %d", tt.phase, tt.stream, len(tt.events)), func(t *testing.T) {
			ready, ended := make(chan struct{}), make(chan struct{}, 1)
			w := newWorld(t, untilCancelled(ready, ended, tt.events...))
			if tt.phase == "load" {
				w.models.OnOpen = func(ctx context.Context, _ string) error {
					defer func() { ended <- struct{}{} }()
					ready <- struct{}{}
					<-ctx.Done()
					return ctx.Err()
				}
			}
			body := hello
			if tt.stream {
				body = helloStream
			}
			ctx, leave := context.WithCancel(t.Context())
			client := make(chan struct{})
			go func() {
				defer close(client)
				req, _ := http.NewRequestWithContext(ctx, "POST", w.URL+"/v1/chat/completions", strings.NewReader(body))
				if res, err := w.Client.Do(req); err == nil {
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			}()
			<-ready
			leave()
			<-ended
			<-w.Over
			<-client
			if got := w.Metric(`dure_requests_cancelled_total{phase="` + tt.phase + `"}`); got != "1" {
				t.Errorf("cancelled in phase %s: %q", tt.phase, got)
			}
			if got := w.Metric(`dure_http_requests_total{route="/v1/chat/completions",status="499"}`); got != "1" {
				t.Errorf("status 499: %q", got)
			}
			if o, r := w.models.Opened.Load(), w.models.Released.Load(); o != r {
				t.Errorf("opened %d, released %d", o, r)
			}
			if line := w.Lines()[0]; line["status"] != 499.0 || line["model"] != "small" {
				t.Errorf("log line %v", line)
			}
		})
	}
}

func TestManyStreams(t *testing.T) {
	const clients, pieces = 200, 20
	w := newWorld(t, func(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
		all := []inference.Event{started()}
		for i := range pieces {
			all = append(all, says(fmt.Sprintf("%s-%d ", req.Messages[0].Content, i)))
		}
		return script(nil, append(all, done())...)(nil, nil)
	})
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			name := fmt.Sprint("client", c)
			got := w.chat(`{"stream":true,"messages":[{"role":"user","content":"` + name + `"}]}`)
			if got.err != nil || strings.Count(got.body, `"content":"`+name+"-") != pieces || !strings.HasSuffix(got.body, "data: [DONE]\n\n") {
				t.Errorf("%s: %v: %s", name, got.err, got.body)
			}
		})
	}
	wg.Wait()
	if o, r := w.models.Opened.Load(), w.models.Released.Load(); o != clients || r != clients {
		t.Errorf("opened %d, released %d", o, r)
	}
	if got := w.Metric("dure_http_requests_in_flight"); got != "1" { // the scrape itself
		t.Errorf("in flight: %q", got)
	}
	if got := w.Metric(`dure_completion_tokens_total{model="small"}`); got != fmt.Sprint(3*clients) {
		t.Errorf("completion tokens: %q", got)
	}
	if got := w.Metric(`dure_inter_token_gap_seconds_count{model="small",priority="interactive"}`); got != fmt.Sprint((pieces-1)*clients) {
		t.Errorf("gaps: %q", got)
	}
	if got := w.Metric(`dure_time_to_first_token_seconds_count{model="small",priority="interactive"}`); got != fmt.Sprint(clients) {
		t.Errorf("first tokens: %q", got)
	}
}
