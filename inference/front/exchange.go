package front

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Exchange is one request and its answer: the ResponseWriter that handlers
// write to, and what the metrics and the log line need to know at the end. It
// belongs to the request's goroutine; while a stream is watched, what concerns
// writing belongs to whoever holds the stream's lock.
type Exchange struct {
	http.ResponseWriter
	h       *Handler
	control *http.ResponseController
	id      string
	start   time.Time
	armed   time.Time // when the write deadline was last moved
	row     row
	status  int      // 0 until the header is written
	stream  *Stream  // set once a stream began
	failure *Failure // what was sent or would have been
	// progress is that of a generation, on the routes that generate.
	progress progress
	holder   Holder // who asks
	visit    Visit  // of a generation, once it was admitted
	size     int64  // of the body, once it was read
	warnings []string
	alone    bool  // made by Apart
	gone     bool  // the client left or was dropped
	cut      bool  // the connection has to be closed
	unread   bool  // some of the body was not read yet
	held     int64 // bytes of the budget for bodies
}

func newExchange(h *Handler, w http.ResponseWriter, r *http.Request) *Exchange {
	return &Exchange{
		ResponseWriter: w,
		h:              h,
		control:        http.NewResponseController(w),
		id:             requestID(r.Header.Get("X-Request-Id")),
		start:          time.Now(),
		holder:         anybody{},
	}
}

// requestID takes over a client's own id if it is a plain short word, which
// keeps it harmless in logs and headers, and makes one otherwise.
func requestID(given string) string {
	const most = 128
	bad := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.:/", c))
	}
	if given == "" || len(given) > most || strings.ContainsFunc(given, bad) {
		return "req-" + rand.Text()
	}
	return given
}

// ID names the request, in the log and in the X-Request-Id of its answer.
func (x *Exchange) ID() string { return x.id }

// Start is when the request's header had come.
func (x *Exchange) Start() time.Time { return x.start }

// Version is that of the build and its engine.
func (x *Exchange) Version() string { return x.h.version }

// Warn adds to what the answer warns of.
func (x *Exchange) Warn(warnings ...string) { x.warnings = append(x.warnings, warnings...) }

// Warnings are what the answer has to warn of. Those of a generation are complete
// when its last choice ends.
func (x *Exchange) Warnings() []string { return x.warnings }

// clientError is a failure to read from or write to the client: there is
// nobody left to tell.
type clientError struct{ err error }

func (e *clientError) Error() string { return "client: " + e.err.Error() }
func (e *clientError) Unwrap() error { return e.err }

// Unwrap lets http.ResponseController reach the connection.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader notes the status.
func (x *Exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
		x.hangUp()
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *Exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	return x.ResponseWriter.Write(p)
}

// rearm is how often the write deadline moves at most: moving it costs more
// than an event may. A client gets at least WriteTimeout less this much.
const rearm = time.Second

// arm gives the client another WriteTimeout, from now on.
func (x *Exchange) arm(now time.Time) error {
	if now.Sub(x.armed) < rearm {
		return nil
	}
	x.armed = now
	return deadlineError("write", x.control.SetWriteDeadline(now.Add(WriteTimeout)))
}

// deadlineError tells a connection that is closed from one that cannot have
// deadlines, which is a mistake in wiring: without them a client that does not
// read would hold its place for ever.
func deadlineError(what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("set %s deadline: %w", what, err)
	if errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return &clientError{err}
}

// send writes p within the time limit, which begins now.
func (x *Exchange) send(p []byte, now time.Time) error {
	if err := x.arm(now); err != nil {
		return err
	}
	if _, err := x.Write(p); err != nil {
		return &clientError{err}
	}
	return nil
}

// flush hands what was sent to the network.
func (x *Exchange) flush() error {
	if err := x.control.Flush(); err != nil {
		return &clientError{err}
	}
	return nil
}

// JSON answers with one JSON value.
func (x *Exchange) JSON(status int, v any) error {
	body, err := AppendJSON(nil, v)
	if err != nil {
		return err
	}
	return x.sendJSON(status, body)
}

// sendJSON answers with a value that is encoded already.
func (x *Exchange) sendJSON(status int, body []byte) error {
	body = append(body, '\n')
	x.Header().Set("Content-Type", "application/json")
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(status)
	return x.send(body, time.Now())
}

// fail answers with an error, in the form that is still possible.
func (x *Exchange) fail(r *http.Request, err error) {
	if x.isGone(r, err) {
		// A client that closed only its sending side looks just like one that
		// left, and still listens. An answer that simply ends would be an empty
		// or a short one to it, with a status that says all is well.
		x.gone, x.cut = true, true
		if errors.Is(err, os.ErrDeadlineExceeded) {
			x.h.metrics.slow.Inc()
		}
		return
	}
	if errors.Is(err, context.Canceled) && x.h.isClosing() {
		err = errClosing
	}
	x.failure = toFailure(err, x.id)
	switch {
	case x.stream != nil:
		err = x.stream.fail(x.failure)
	case x.status == 0:
		err = x.sendFailure(x.failure)
	default: // the whole answer is out; what failed after it is only logged
		err = nil
	}
	x.gone = err != nil
	x.cut = x.gone
}

// isGone reports whether err means that nobody waits for an answer. A server
// that closes cancels requests whose clients do wait, and a refusal of this
// package may follow a read that timed out, which cancels the request too.
func (x *Exchange) isGone(r *http.Request, err error) bool {
	var lost *clientError
	var own *Failure
	return errors.As(err, &lost) ||
		r.Context().Err() != nil && !errors.As(err, &own) && !x.h.isClosing()
}

func (x *Exchange) sendFailure(f *Failure) error {
	for _, h := range f.Headers {
		x.Header().Set(h[0], h[1])
	}
	return x.JSON(f.Status, x.row.surface.Fail(x, f))
}
