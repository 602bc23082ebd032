package front

import (
	"container/list"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// DefaultConnections is how many connections a server has at once where nobody says.
const DefaultConnections = 2048

const (
	// maxTold is how many connections that found no place are told so at once; others
	// are only closed.
	maxTold = 64
	// tellTime is how long a client may take to send and read where it is told so.
	tellTime = time.Second
)

// Crowd bounds the connections of a server. Where there are as many as may be, the one
// that has had no request for the longest time gives way to a new one; where all have
// one, the new one is answered with 503 (over TLS just closed) and counted.
type Crowd struct {
	most int
	log  *slog.Logger

	mu   sync.Mutex
	open map[*member]struct{}
	idle list.List // of members without a request, the longest in front
	said time.Time // when the log was told last that there is no room

	told     chan struct{} // held by those who are being told
	refused  prometheus.Counter
	overtook prometheus.Counter
}

// NewCrowd makes one of most connections; 0 means DefaultConnections. A nil registry
// keeps its metrics unseen.
func NewCrowd(most int, log *slog.Logger, registry prometheus.Registerer) *Crowd {
	if most == 0 {
		most = DefaultConnections
	}
	c := &Crowd{
		most: most, log: log, open: map[*member]struct{}{}, told: make(chan struct{}, maxTold),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dure_http_connections_refused_total", Help: "Connections refused because there were as many as may be, all with a request."}),
		overtook: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dure_http_connections_closed_total", Help: "Connections without a request that were closed to make room for new ones."}),
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "dure_http_connections", Help: "Connections that are open."}, func() float64 { return float64(c.count()) })
	if registry != nil {
		registry.MustRegister(c.refused, c.overtook, held)
	}
	return c
}

func (c *Crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// Watch has a server tell which of its connections have a request. It is called before
// the server serves what Listen returned.
func (c *Crowd) Watch(srv *http.Server) { srv.ConnState = c.changed }

// Listen bounds what a listener accepts. secret says that TLS comes on top of it.
func (c *Crowd) Listen(l net.Listener, secret bool) net.Listener { return &gate{l, c, secret} }

type gate struct {
	net.Listener
	crowd  *Crowd
	secret bool
}

// Accept implements net.Listener.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if m := g.crowd.enter(conn); m != nil {
			return m, nil
		}
		g.crowd.turnAway(conn, g.secret)
	}
}

// member is a connection that counts until it is closed.
type member struct {
	net.Conn
	crowd *Crowd
	place *list.Element // among the idle ones; nil outside
	gone  bool
}

// Close implements net.Conn.
func (m *member) Close() error {
	m.crowd.mu.Lock()
	m.crowd.leave(m)
	m.crowd.mu.Unlock()
	return m.Conn.Close()
}

// enter takes a connection in; nil where there is no room.
func (c *Crowd) enter(conn net.Conn) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.most {
		oldest := c.idle.Front()
		if oldest == nil {
			c.notice()
			return nil
		}
		c.overtook.Inc()
		m := oldest.Value.(*member)
		c.leave(m)
		m.Conn.Close()
	}
	m := &member{Conn: conn, crowd: c}
	c.open[m] = struct{}{}
	return m
}

// notice logs now and then that there is no room.
func (c *Crowd) notice() {
	if now := time.Now(); now.Sub(c.said) > time.Minute {
		c.said = now
		c.log.Warn("connections are refused: there are as many as may be, and all have a request", "connections", c.most)
	}
}

// leave takes a connection out, once. The lock is held.
func (c *Crowd) leave(m *member) {
	if m.gone {
		return
	}
	m.gone = true
	delete(c.open, m)
	c.rest(m, false)
}

// rest notes whether a connection has no request. The lock is held.
func (c *Crowd) rest(m *member, idle bool) {
	if m.place != nil {
		c.idle.Remove(m.place)
		m.place = nil
	}
	if idle && !m.gone {
		m.place = c.idle.PushBack(m)
	}
}

// changed is an http.Server's ConnState.
func (c *Crowd) changed(conn net.Conn, state http.ConnState) {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	if m, ok := conn.(*member); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.rest(m, state == http.StateIdle)
	}
}

// turnAway ends a connection that found no place, and says why where that can be read.
func (c *Crowd) turnAway(conn net.Conn, secret bool) {
	c.refused.Inc()
	if !secret {
		select {
		case c.told <- struct{}{}:
			go c.tell(conn)
			return
		default: // too many are told already
		}
	}
	conn.Close()
}

// tell answers a connection with 503 and ends it.
func (c *Crowd) tell(conn net.Conn) {
	defer func() { <-c.told }()
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(tellTime)) != nil {
		return
	}
	body := fmt.Sprintf(`{"error":{"message":"this server has %d connections, as many as may be, and all of them have a request: try again later, or start it with a higher --connections","type":"server_error","param":null,"code":"too_many_connections"}}`+"\n", c.most)
	_, err := fmt.Fprintf(conn, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil && half.CloseWrite() == nil {
		// Closing while the request comes in would take the answer away.
		io.CopyN(io.Discard, conn, MaxBody)
	}
}
