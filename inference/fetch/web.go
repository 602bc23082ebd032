package fetch

import (
	"context"
	"net/http"
	"time"
)

// Link is a file on a web server.
type Link struct {
	// File is its name in downloads, unique for what it is.
	File string
	// URL is https, or http where the host is this machine.
	URL string
	// Token is sent as a bearer token, to the scheme, host and port of URL only:
	// a redirect to anywhere else goes without it. May be empty.
	Token string
	// Bytes is its exact size; 0 where only the server knows.
	Bytes int64
	// Hash may be the zero Hash where the server tells it.
	Hash Hash
}

// Remote is what a server says of a file.
type Remote struct {
	Bytes int64
	// Hash is the SHA-256 that a model hub keeps of a large file
	// (X-Linked-Etag); the zero Hash elsewhere.
	Hash Hash
	// Commit is the hub's commit that the file belongs to (X-Repo-Commit); may
	// be empty.
	Commit string
	// ETag is the strong validator of the bytes; empty where there is none.
	ETag string
	// Ranges says that parts of the file can be asked for.
	Ranges bool
}

// Web is how files are fetched from web servers. The zero value is usable.
type Web struct {
	// Transport may be nil: then one without HTTP/2, whose single connection
	// would carry all ranges.
	Transport http.RoundTripper
	// Connections is how many ranges are under way at the same time; 0 is 8.
	Connections int
	// Segment is the size of a range in bytes; 0 is 32 MiB.
	Segment int64
	// Stall is how long a connection may be silent; 0 is 30 seconds, and 10 for
	// Probe and ReadRange, for which somebody waits.
	Stall time.Duration
	// Attempts is how often one range is asked for without a byte of answer; 0
	// is 8, which with the waits between them is about two minutes, and 3 for
	// Probe and ReadRange. Where no connection can be made at all it is 2 until
	// bytes have come.
	Attempts int
	// Wait sleeps between attempts; nil is a timer. It ends with ctx.
	Wait func(ctx context.Context, d time.Duration) error
}

func (w Web) connections() int {
	if w.Connections > 0 {
		return w.Connections
	}
	return 8
}

func (w Web) segment() int64 {
	if w.Segment > 0 {
		return w.Segment
	}
	return 32 << 20
}

func (w Web) stall() time.Duration {
	if w.Stall > 0 {
		return w.Stall
	}
	return 30 * time.Second
}

func (w Web) attempts() int {
	if w.Attempts > 0 {
		return w.Attempts
	}
	return 8
}

// impatient is how to ask where nothing is under way that would be lost.
func (w Web) impatient() Web {
	if w.Attempts == 0 {
		w.Attempts = 3
	}
	if w.Stall == 0 {
		w.Stall = 10 * time.Second
	}
	return w
}

func (w Web) wait(ctx context.Context, d time.Duration) error {
	if w.Wait != nil {
		return w.Wait(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// transport is shared by all fetchers of the process, so that connections are
// used again.
var transport = func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.MaxIdleConnsPerHost = 16
	return t
}()

// roundTripper sends single requests: redirects are followed by get.
func (w Web) roundTripper() http.RoundTripper {
	if w.Transport != nil {
		return w.Transport
	}
	return transport
}
