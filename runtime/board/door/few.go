package door

import (
	"net"
	"sync"
)

// few accepts a connection only when there is a place for it; more wait in the
// system's queue, which is bounded too.
type few struct {
	net.Listener
	places chan struct{}
}

func (l *few) Accept() (net.Conn, error) {
	l.places <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &placed{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

type placed struct {
	net.Conn
	leave func()
}

func (c *placed) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
