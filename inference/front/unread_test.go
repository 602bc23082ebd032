package front_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dure/inference/front"
	"dure/inference/front/fronttest"
	"dure/inference/front/strict"
)

// stalls are requests whose bodies stop coming, though no answer needs them.
var stalls = []struct {
	head   string
	status int
}{
	{"GET /health", 200},
	{"HEAD /health", 200},
	{"GET /metrics", 401},
	{"GET /names", 401},
	{"GET /metrics\r\nAuthorization: Bearer k", 200},
	{"GET /names\r\nAuthorization: Bearer k", 200},
	{"POST /say\r\nAuthorization: Bearer k\r\nContent-Type: text/plain", 415},
	{"POST /spell\r\nAuthorization: Bearer k\r\nContent-Encoding: gzip", 415},
	{"POST /spell", 401},
	{"POST /nope\r\nAuthorization: Bearer k", 404},
	{"DELETE /names\r\nAuthorization: Bearer k", 405},
	{"POST /say\r\nOrigin: https://evil.example", 403},
	{"OPTIONS /names\r\nOrigin: http://localhost\r\nAccess-Control-Request-Method: GET", 204},
	{"POST /nope\r\nAuthorization: Bearer k\r\nExpect: 100-continue", 404},
	{"OPTIONS *\r\nAuthorization: Bearer k", 404},
	{"GET /health\r\nExpect: magic", 417},
}

// withHead puts the request line and the headers of every request together.
func withHead(head, body string) string {
	line, headers, _ := strings.Cut(head+"\r\n", "\r\n")
	host := "Host: localhost\r\n"
	return line + " HTTP/1.1\r\n" + host + headers + body
}

// An answer that needs no body does not wait for one, and the connection of a
// client that does not send it does not stay.
func TestBodyThatNobodyReads(t *testing.T) {
	bodies := map[string]string{
		"length":  "Content-Length: 10\r\n\r\nx",
		"nothing": "Content-Length: 10\r\n\r\n",
		"long":    "Content-Length: 10000000\r\n\r\nx",
		"chunks":  "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
	}
	for _, tt := range stalls {
		for name, body := range bodies {
			t.Run(fmt.Sprint(tt.head, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { stall(t, withHead(tt.head, body), tt.status, "") })
			})
		}
	}
	t.Run("host", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stall(t, "POST /say HTTP/1.1\r\nHost: evil.example\r\n"+bodies["length"], 403, "")
		})
	})
	t.Run("trickle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			stall(t, withHead("POST /nope\r\nAuthorization: Bearer k", "Content-Length: 100000\r\n\r\n"), 404, "x")
		})
	})
}

// stall sends a request, then the trickle each second, and checks that the
// answer comes at once and the end of the connection soon.
func stall(t *testing.T, request string, status int, trickle string) {
	_, dial, stop := newPipeWorld(t, nil, func(o *front.Options) { o.Keys = fronttest.OneKey("k") })
	defer stop()
	conn := dial()
	defer conn.Close()
	begin := time.Now()
	go func() {
		_, err := io.WriteString(conn, request)
		for ; err == nil && trickle != ""; _, err = io.WriteString(conn, trickle) {
			time.Sleep(time.Second)
		}
	}()
	in := bufio.NewReader(conn)
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(begin); res.StatusCode != status || waited != 0 || !res.Close {
		t.Errorf("status %d after %s, close %v", res.StatusCode, waited, res.Close)
	}
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Error(err)
	}
	most := front.Linger
	if status == 417 { // of net/http's own
		most = front.HeaderTimeout
	}
	if _, err := in.ReadByte(); err != io.EOF || time.Since(begin) > most {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
}

// A client that sends all before it listens gets its refusal, and one whose body
// was read keeps its connection.
func TestRefusedBodyIsStillTaken(t *testing.T) {
	w := newHandler(t, script(nil, started(), done()))
	server := httptest.NewUnstartedServer(nil)
	server.Config = front.NewServer(w.Handler, slog.New(slog.DiscardHandler))
	server.Start()
	t.Cleanup(server.Close)
	w.URL, w.Client = server.URL, server.Client()
	body := strings.Repeat("x", 200<<10)
	for range 20 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", len(body))
		io.WriteString(conn, body)
		if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 404 ") {
			t.Errorf("%v %q", err, strict.Clip(string(got)))
		}
		conn.Close()
	}
	for body, status := range map[string]int{hello: 200, `{}`: 400, `{`: 400} {
		if got := w.say(body); got.Status != status || got.Header.Get("Connection") != "" {
			t.Errorf("%d %v", got.Status, got.Header)
		}
	}
}
