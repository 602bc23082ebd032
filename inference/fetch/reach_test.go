package fetch

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// Nothing listens at a port that was just given back: told after a second try.
func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	link := Link{File: "m", URL: "http://" + l.Addr().String() + "/m", Bytes: 10, Hash: sha256Of(nil)}
	remote := Remote{Bytes: 10, Ranges: true}
	for name, do := range map[string]func(*Fetcher) error{
		"probe":    func(f *Fetcher) error { _, err := f.Probe(ctx, link); return err },
		"read":     func(f *Fetcher) error { _, err := f.ReadRange(ctx, link, remote, 0, 5); return err },
		"download": func(f *Fetcher) error { _, err := f.Download(ctx, link, remote); return err },
	} {
		w := new(waits)
		err := do(&Fetcher{Home: t.TempDir(), Web: w.web()})
		if says(t, err, "gave up after 2 attempts", "connection refused", "no server listens there"); len(w.all) != 1 {
			t.Errorf("%s: waited %v", name, w.all)
		}
	}
}

// cable fails from some request on for some requests.
type cable struct {
	asked, from, to atomic.Int32
	err             error
}

func (c *cable) RoundTrip(r *http.Request) (*http.Response, error) {
	if n := c.asked.Add(1); n >= c.from.Load() && n < c.to.Load() {
		return nil, c.err
	}
	return http.DefaultTransport.RoundTrip(r)
}

func dial(op string, why unix.Errno) error { return &net.OpError{Op: op, Net: "tcp", Err: why} }

func TestNoWayToAServer(t *testing.T) {
	for _, c := range []struct {
		err   error
		says  string
		tries int32
	}{
		{dial("dial", unix.ENETUNREACH), "no way to it from here", 2},
		{dial("dial", unix.EHOSTUNREACH), "no way to it from here", 2},
		{dial("proxyconnect", unix.ECONNREFUSED), "check the proxy settings", 2},
		{dial("read", unix.ECONNRESET), "check the network", 3}, // it was there
		{errStalled, "check the network", 3},
	} {
		line := &cable{err: c.err}
		line.to.Store(100)
		f := &Fetcher{Home: t.TempDir(), Web: new(waits).web()}
		f.Web.Transport = line
		_, err := f.Probe(ctx, Link{File: "m", URL: "https://a.example/m"})
		if says(t, err, c.says); line.asked.Load() != c.tries {
			t.Errorf("%v: asked %d times", c.err, line.asked.Load())
		}
	}
}

// A network that goes away in the middle may come back: what has begun waits.
func TestPatientOnceBytesCame(t *testing.T) {
	data := randomBytes(256 << 10)
	h := newHub(t, data)
	w, line := new(waits), &cable{err: dial("dial", unix.ENETUNREACH)}
	line.from.Store(4) // after the probe and two ranges
	line.to.Store(10)
	f := &Fetcher{Home: t.TempDir(), Web: w.web()}
	f.Web.Connections, f.Web.Transport = 1, line
	path, err := pull(f, h.link())
	if err != nil {
		t.Fatal(err)
	}
	if wantFile(t, path, data); len(w.all) != 6 {
		t.Errorf("waited %v", w.all)
	}
	var never *WebError
	f.Home, line.asked = t.TempDir(), atomic.Int32{}
	line.from.Store(2) // after the probe
	_, err = pull(f, h.link())
	if says(t, err, "gave up after 2 attempts"); !errors.As(err, &never) || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("%v", err)
	}
}
