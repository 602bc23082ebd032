package front_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/inference/front"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// hall is a server whose answers wait, with a bound on its connections.
type hall struct {
	*httptest.Server
	t        *testing.T
	registry *prometheus.Registry
	entered  chan struct{} // a request came
	leave    chan struct{} // one may go
	over     chan struct{} // all may go
	idle     sync.Map      // addresses of clients whose connection was seen to rest
}

func newHall(t *testing.T, most int, secret bool) *hall {
	h := &hall{t: t, registry: prometheus.NewRegistry(), entered: make(chan struct{}, 100), leave: make(chan struct{}), over: make(chan struct{})}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stay" {
			h.entered <- struct{}{}
			select {
			case <-h.leave:
			case <-h.over:
			}
		}
		io.WriteString(w, "hello")
	}))
	crowd := front.NewCrowd(most, slog.New(slog.DiscardHandler), h.registry)
	crowd.Watch(h.Config)
	note := h.Config.ConnState
	h.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		note(conn, state)
		if state == http.StateIdle {
			h.idle.Store(conn.RemoteAddr().String(), true)
		}
	}
	h.Listener = crowd.Listen(h.Listener, secret)
	if secret {
		h.StartTLS()
	} else {
		h.Start()
	}
	t.Cleanup(func() {
		close(h.over) // a test that failed has left some waiting
		h.Close()
	})
	return h
}

func (h *hall) metric(name string) (value float64) {
	h.t.Helper()
	page := httptest.NewRecorder()
	promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for l := range strings.Lines(page.Body.String()) {
		if number, ok := strings.CutPrefix(l, name+" "); ok {
			if _, err := fmt.Sscan(number, &value); err != nil {
				h.t.Fatal(err)
			}
			return value
		}
	}
	h.t.Fatalf("no metric %s", name)
	return 0
}

// guest is a connection of its own.
type guest struct {
	net.Conn
	in   *bufio.Reader
	hall *hall
}

func (h *hall) guest(secret bool) *guest {
	h.t.Helper()
	conn, err := net.Dial("tcp", h.Listener.Addr().String())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	if secret {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // the test's own certificate
	}
	return &guest{conn, bufio.NewReader(conn), h}
}

func (g *guest) ask(path string) error {
	_, err := fmt.Fprintf(g, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	return err
}

func (g *guest) answer() (status int, body string, err error) {
	res, err := http.ReadResponse(g.in, nil)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	return res.StatusCode, string(all), err
}

// greeted asks and must be answered; the server has then seen that it rests.
func (g *guest) greeted(t *testing.T) {
	t.Helper()
	me := g.LocalAddr().String()
	g.hall.idle.Delete(me)
	if err := g.ask("/"); err != nil {
		t.Fatal(err)
	}
	if status, body, err := g.answer(); status != 200 || body != "hello" {
		t.Fatalf("%d %q %v", status, body, err)
	}
	for _, rests := g.hall.idle.Load(me); !rests; _, rests = g.hall.idle.Load(me) {
		time.Sleep(time.Millisecond)
	}
}

func TestCrowd(t *testing.T) {
	for name, secret := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, 2, secret)
			stays := h.guest(secret)
			if err := stays.ask("/stay"); err != nil {
				t.Fatal(err)
			}
			<-h.entered
			rests := h.guest(secret)
			rests.greeted(t)
			// The one that rests gives way, the one with a request does not.
			third := h.guest(secret)
			third.greeted(t)
			if _, err := rests.in.ReadByte(); err == nil {
				t.Error("the connection without a request was not closed")
			}
			if err := third.ask("/stay"); err != nil {
				t.Fatal(err)
			}
			<-h.entered
			late := h.guest(secret)
			err := late.ask("/")
			status, body, readErr := late.answer()
			if secret && err == nil && readErr == nil {
				t.Errorf("over TLS: %d %q", status, body)
			}
			if !secret && (status != 503 || !strings.Contains(body, `"too_many_connections"`) || readErr != nil) {
				t.Errorf("%d %q %v %v", status, body, err, readErr)
			}
			if n, closed, refused := h.metric("dure_http_connections"), h.metric("dure_http_connections_closed_total"), h.metric("dure_http_connections_refused_total"); n != 2 || closed != 1 || refused != 1 {
				t.Errorf("%v open, %v closed, %v refused", n, closed, refused)
			}
			close(h.leave)
			for _, g := range []*guest{stays, third} {
				if status, _, err := g.answer(); status != 200 {
					t.Errorf("%d %v", status, err)
				}
				g.greeted(t) // and again on the same connection
			}
		})
	}
}

// Many more clients than there is room for: the bound holds, and every client has an
// answer or an end.
func TestCrowdUnderPressure(t *testing.T) {
	h := newHall(t, 8, false)
	close(h.leave)
	ended := make(chan string, 200)
	for range cap(ended) {
		g := h.guest(false)
		go func() {
			err := g.ask("/")
			status, _, readErr := g.answer()
			switch {
			case status == 200 || status == 503:
				ended <- fmt.Sprint(status)
			case err != nil || readErr != nil:
				ended <- "closed"
			default:
				ended <- fmt.Sprint(status)
			}
		}()
	}
	seen := map[string]int{}
	for range cap(ended) {
		seen[<-ended]++
	}
	if n := h.metric("dure_http_connections"); n > 8 || seen["200"] == 0 || seen["200"]+seen["503"]+seen["closed"] != cap(ended) {
		t.Errorf("%v open; %v", n, seen)
	}
}
