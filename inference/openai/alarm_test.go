package openai

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dure/inference"
	"dure/inference/front"

	"github.com/google/go-cmp/cmp"
)

// timed notes when each line of a stream came, in seconds from the request on.
func timed(t *testing.T, conn io.Reader, begin time.Time) []string {
	t.Helper()
	var all []string
	scan := bufio.NewScanner(conn)
	for scan.Scan() {
		line := scan.Text()
		switch {
		case strings.HasPrefix(line, "HTTP/"), line == ": keep-alive", line == "data: [DONE]":
		case strings.HasPrefix(line, "data: "):
			var event struct {
				Choices []struct {
					Delta struct{ Role, Content string }
				}
				Error struct{ Code string }
			}
			decodeInto(t, line[len("data: "):], &event)
			line = event.Error.Code
			if len(event.Choices) > 0 {
				line = event.Choices[0].Delta.Role + event.Choices[0].Delta.Content
			}
		default:
			continue
		}
		all = append(all, fmt.Sprintf("%.0f %s", time.Since(begin).Seconds(), line))
	}
	return all
}

// after yields an event when its time has come.
type after struct {
	wait  time.Duration
	event inference.Event
	err   error
}

func paced(steps ...after) generateFunc {
	return func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			for _, s := range steps {
				time.Sleep(s.wait)
				if !yield(s.event, s.err) {
					return
				}
			}
		}
	}
}

func TestKeepAlive(t *testing.T) {
	lost := &inference.Error{Code: inference.CodeRunnerLost, Message: "died"}
	full := &inference.Error{Code: inference.CodeQueueFull, Message: "full"}
	const ok, bad = "HTTP/1.1 200 OK", "HTTP/1.1 429 Too Many Requests"
	second := time.Second
	for _, tt := range []struct {
		name     string
		load     time.Duration
		generate generateFunc
		want     []string
	}{
		{"soon", 3 * second, paced(after{5 * second, started(), nil}, after{14 * second, says("a"), nil}, after{0, done(), nil}),
			[]string{"8 " + ok, "8 assistant", "22 a", "22 ", "22 data: [DONE]"}},
		{"refused soon", 3 * second, paced(after{5 * second, started(), full}), []string{"8 " + bad}},
		{"a long load", 42 * second, paced(after{0, started(), nil}, after{0, done(), nil}),
			[]string{"10 " + ok, "10 : keep-alive", "25 : keep-alive", "40 : keep-alive", "42 assistant", "42 ", "42 data: [DONE]"}},
		{"a long wait in the queue", 0, paced(after{12 * second, started(), full}),
			[]string{"10 " + ok, "10 : keep-alive", "12 queue_full"}},
		{"a long prompt", 0, paced(after{second, started(), nil}, after{40 * second, says("a"), nil}, after{16 * second, started(), lost}),
			[]string{"1 " + ok, "1 assistant", "16 : keep-alive", "31 : keep-alive", "41 a", "56 : keep-alive", "57 runner_lost"}},
		{"never silent", 0, paced(after{9 * second, started(), nil}, after{9 * second, says("a"), nil}, after{9 * second, says("b"), nil},
			after{9 * second, says("c"), nil}, after{9 * second, done(), nil}),
			[]string{"9 " + ok, "9 assistant", "18 a", "27 b", "36 c", "45 ", "45 data: [DONE]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, dial, stop := newPipeWorld(t, tt.generate)
				defer stop()
				w.models.OnOpen = func(context.Context, string) error { time.Sleep(tt.load); return nil }
				conn := dial()
				begin := time.Now()
				lines := make(chan []string)
				go func() { lines <- timed(t, conn, begin) }()
				post(conn, helloStream, len(helloStream))
				<-w.Over
				synctest.Wait()
				conn.Close()
				if diff := cmp.Diff(tt.want, <-lines); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A load that fails late is an event, and a whole answer gets no comments.
func TestLoadFailsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, stop := newPipeWorld(t, script(nil, started(), done()))
		defer stop()
		w.models.OnOpen = func(context.Context, string) error {
			time.Sleep(time.Minute)
			return &inference.Error{Code: inference.CodeLoadFailed, Message: "no memory"}
		}
		got := w.chat(helloStream)
		if body, found := strings.CutPrefix(got.body, strings.Repeat(comment, 4)+"data: "); got.status != 200 || !found {
			t.Errorf("%d %s", got.status, got.body)
		} else {
			wantErrorObject(t, body, kindServer, "model_load_failed", "", "no memory")
		}
		w.chat(hello).wantError(t, 503, kindServer, "model_load_failed", "", "no memory")
	})
}

// A client that does not even read the comments is dropped, and what its request
// waits for ends.
func TestStuckClientDuringLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dial, stop := newPipeWorld(t, script(nil))
		defer stop()
		w.models.OnOpen = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}
		conn := dial()
		defer conn.Close()
		begin := time.Now()
		post(conn, helloStream, len(helloStream))
		<-w.Over
		if waited := time.Since(begin); waited != patience+front.WriteTimeout {
			t.Errorf("dropped after %s", waited)
		}
		if got := w.Metric("dure_http_slow_clients_total"); got != "1" {
			t.Errorf("slow clients: %q", got)
		}
		if got := w.Metric(`dure_requests_cancelled_total{phase="load"}`); got != "1" {
			t.Errorf("cancelled: %q", got)
		}
	})
}

// Comments and tokens that come at the same moment do not mix, for one choice or
// many.
func TestAlarmAmongTokens(t *testing.T) {
	for _, n := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var steps []after
			for range 20 {
				steps = append(steps, after{keepAlive, says("piece"), nil})
			}
			w, _, stop := newPipeWorld(t, paced(append(append([]after{{0, started(), nil}}, steps...), after{keepAlive, done(), nil})...))
			defer stop()
			got := w.chat(`{"stream":true,` + helloTimes(n)[1:])
			clean := strings.ReplaceAll(got.body, comment, "")
			if len(events(t, clean)) != n*22+1 || got.err != nil {
				t.Errorf("%v %s", got.err, got.body)
			}
		})
	}
}
