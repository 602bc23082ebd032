package front_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"

	"dure/inference"
)

// halfClosed sends bytes over TCP, closes the sending side and returns all that
// comes back.
func halfClosed(t *testing.T, url, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(conn) // a connection that is reset says nothing more
	return string(got)
}

func posted(path, body string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", path, length, body)
}

// To net/http the end of what a client sends is the client's end. What it gets,
// if it listens still, must not look like an answer.
func TestHalfClosedClientGetsNoSuccess(t *testing.T) {
	w := newWorld(t, func(ctx context.Context, _ *inference.Request) iter.Seq2[inference.Event, error] {
		return func(yield func(inference.Event, error) bool) {
			if yield(started(), nil) {
				<-ctx.Done()
				yield(inference.Event{}, ctx.Err())
			}
		}
	})
	for _, body := range []string{hello, helloStream} {
		got := halfClosed(t, w.URL, posted("/say", body, len(body)))
		<-w.Over
		if strings.HasSuffix(got, "0\r\n\r\n") || strings.Contains(got, "[DONE]") || strings.Contains(got, "Content-Length") ||
			body == hello && got != "" {
			t.Errorf("looks whole: %q", got)
		}
	}
	if got := w.Metric(`dure_requests_cancelled_total{phase="prompt"}`); got != "2" {
		t.Errorf("cancelled: %q", got)
	}
	// The server lives on.
	w.models.Generate = script(nil, started(), done())
	if got := w.say(hello); got.Status != 200 {
		t.Error(got)
	}
}

func TestTruncatedBody(t *testing.T) {
	w := newWorld(t, script(nil, started(), done()))
	for _, path := range []string{"/say", "/spell"} {
		got := halfClosed(t, w.URL, posted(path, hello, len(hello)+1))
		<-w.Over
		if !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, fmt.Sprintf("ended early, after %d bytes", len(hello))) {
			t.Errorf("%s: %q", path, got)
		}
		chunked := halfClosed(t, w.URL, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc")
		<-w.Over
		if !strings.HasPrefix(chunked, "HTTP/1.1 400 ") {
			t.Errorf("%s: %q", path, chunked)
		}
	}
	if got := w.Metric(fmt.Sprintf(`dure_http_requests_total{route="/spell",status="%d"}`, http.StatusBadRequest)); got != "2" {
		t.Errorf("status 400: %q", got)
	}
	if w.models.Opened.Load() != 0 {
		t.Error("a model was opened")
	}
}
