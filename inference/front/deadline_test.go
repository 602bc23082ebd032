package front_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dure/inference"
	"dure/inference/front"
	"dure/inference/front/fronttest"
)

func post(conn net.Conn, body string, length int) {
	fmt.Fprintf(conn, "POST /say HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", length, body)
}

// A client that stops reading is dropped after front.WriteTimeout, and its
// generation with it.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		w, dial, stop := newPipeWorld(t, func(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
			return func(yield func(inference.Event, error) bool) {
				defer close(ended)
				for ok := yield(started(), nil); ok; {
					ok = yield(says("x"), nil)
				}
			}
		})
		defer stop()
		conn := dial()
		defer conn.Close()
		post(conn, helloStream, len(helloStream))
		reader := bufio.NewReader(conn)
		for line := ""; !strings.Contains(line, `"text":"x"`); {
			var err error
			if line, err = reader.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		stopped := time.Now()
		<-ended
		<-w.Over
		if waited := time.Since(stopped); waited < front.WriteTimeout-2*time.Second || waited > front.WriteTimeout {
			t.Errorf("dropped after %s", waited)
		}
		if got := w.Metric("dure_http_slow_clients_total"); got != "1" {
			t.Errorf("slow clients: %q", got)
		}
		if got := w.Metric(`dure_requests_cancelled_total{phase="decode"}`); got != "1" {
			t.Errorf("cancelled: %q", got)
		}
	})
}

// What counts is the time a client takes to read, not how long the model takes:
// a load, a gap between tokens and a whole answer may each be longer than the
// deadline, also on a connection that served a request before.
func TestSlowModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, stop := newPipeWorld(t, func(ctx context.Context, _ *inference.Request) iter.Seq2[inference.Event, error] {
			return func(yield func(inference.Event, error) bool) {
				for _, ev := range []inference.Event{started(), says("a"), says("b"), says("c"), done()} {
					time.Sleep(2*front.WriteTimeout + front.ReadTimeout)
					if !yield(ev, ctx.Err()) {
						return
					}
				}
			}
		})
		defer stop()
		for range 2 {
			if got := w.say(helloStream); got.Err != nil || !strings.HasSuffix(got.Body, "data: [DONE]\n\n") {
				t.Errorf("%v %s", got.Err, got.Body)
			}
			if got := w.say(hello); got.Err != nil || got.Status != 200 {
				t.Errorf("%v %s", got.Err, got.Body)
			}
		}
	})
}

// A body that stays away is refused when its time is over, one that is too
// large at once.
func TestBodyThatDoesNotArrive(t *testing.T) {
	for _, tt := range []struct {
		length, status int
		code           string
		after          time.Duration
	}{
		{100, 408, "request_timeout", front.ReadTimeout},
		{front.MaxBody + 1, 413, "request_too_large", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, dial, stop := newPipeWorld(t, script(nil))
			defer stop()
			conn := dial()
			defer conn.Close()
			begin := time.Now()
			post(conn, "{", tt.length)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(begin); waited != tt.after {
				t.Errorf("%d: refused after %s", tt.length, waited)
			}
			body, _ := io.ReadAll(res.Body)
			reply{fronttest.Reply{Status: res.StatusCode, Body: string(body)}}.wantError(t, tt.status, tt.code, "")
		})
	}
}

// A server that closes cancels what runs, and says so to clients that wait.
func TestCancelWhileClosing(t *testing.T) {
	for _, body := range []string{hello, helloStream} {
		closing := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		w := newHandler(t, func(ctx context.Context, _ *inference.Request) iter.Seq2[inference.Event, error] {
			close(closing)
			cancel()
			<-ctx.Done()
			return script(ctx.Err())(nil, nil)
		}, func(o *front.Options) { o.Closing = closing })
		w.Serve(ctx)
		w.say(body).wantError(t, 503, "shutting_down", "", "shutting down")
	}
}
