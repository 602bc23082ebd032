package front

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"dure/inference"
)

// defaultBodyBudget has room for 16 bodies of the largest size, or for some
// thousands of the usual one.
const defaultBodyBudget = 256 << 20

// budget bounds the bytes of the bodies of all requests together. A request
// takes its share as the bytes come, so that it costs a client a byte sent to
// hold one, and keeps it to its end: the decoded request is about as large.
type budget struct {
	most int64
	held atomic.Int64
}

// take reports whether n more bytes fit, and holds them if so.
func (b *budget) take(n int64) bool {
	if b.held.Add(n) > b.most {
		b.held.Add(-n)
		return false
	}
	return true
}

// resize changes what this request holds to n bytes.
func (x *Exchange) resize(n int64) error {
	if !x.h.bodies.take(n - x.held) {
		x.h.metrics.crowded.Inc()
		f := Refuse(http.StatusServiceUnavailable, inference.CodeQueueFull,
			"the bodies of other requests take all of the %d bytes that there are for them; try again later", x.h.bodies.most)
		f.Header("Retry-After", RetryAfter(time.Second))
		return f
	}
	x.held = n
	return nil
}

// release gives back what the request holds.
func (x *Exchange) release() {
	x.h.bodies.held.Add(-x.held)
	x.held = 0
}

// firstRead is the room for a body whose size is not known, or is more.
const firstRead = 64 << 10

// readAll reads a body whose size is expect, or unknown where that is negative.
// The room for it doubles as it comes: a size alone reserves nothing. The body
// that comes with an error is what was read before it.
func (x *Exchange) readAll(from io.Reader, expect int64) ([]byte, error) {
	var body []byte
	for {
		if len(body) == cap(body) {
			room := max(firstRead, 2*int64(cap(body)))
			if int64(cap(body)) < expect {
				room = min(room, expect)
			}
			if err := x.resize(room); err != nil {
				return body, err
			}
			body = append(make([]byte, 0, room), body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, x.resize(int64(len(body)))
		}
		if err != nil {
			return body, err
		}
	}
}
