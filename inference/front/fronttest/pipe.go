package fronttest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"dure/inference/front"
)

// pipes is a net.Listener whose connections are pipes, which know deadlines
// and have no buffer: time is the test's and a reader that stops is noticed at
// once.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.conns) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// NewPiped is a world that serves over pipes inside a synctest bubble, until stop.
func NewPiped(t testing.TB, surfaces []front.Surface, generate GenerateFunc, change ...func(*front.Options)) (w *World, dial func() net.Conn, stop func()) {
	w = NewHandler(t, surfaces, generate, change...)
	listener := &pipes{conns: make(chan net.Conn)}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return listener.dial(), nil
	}}
	w.URL, w.Client = "http://localhost", &http.Client{Transport: transport}
	server := front.NewServer(w.Handler, slog.New(slog.DiscardHandler))
	var wg sync.WaitGroup
	wg.Go(func() { server.Serve(listener) })
	return w, listener.dial, func() {
		transport.CloseIdleConnections()
		server.Close()
		wg.Wait()
		time.Sleep(time.Second) // net/http lingers on a connection it closed early; the bubble's clock makes this free
	}
}
