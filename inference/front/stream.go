package front

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// maxHeld is how many bytes of events wait for more at most.
const maxHeld = 16 << 10

// StreamForm is how the streams of a surface look.
type StreamForm struct {
	ContentType string
	// Silence is what is sent where nothing else was for a while. Clients skip it
	// wherever it stands between two events, also before the first.
	Silence string
	// Fail appends how a stream that has begun ends with a failure.
	Fail func(dst []byte, f *Failure) ([]byte, error)
}

// EventStream is the form of server-sent events.
func EventStream(fail func(dst []byte, f *Failure) ([]byte, error)) *StreamForm {
	return &StreamForm{ContentType: "text/event-stream; charset=utf-8", Silence: ": keep-alive\n\n", Fail: fail}
}

// JSONLines is the form of one JSON value a line. A space before a value is none of
// it, and the only thing that clients which read line by line do not trip over.
func JSONLines(fail func(dst []byte, f *Failure) ([]byte, error)) *StreamForm {
	return &StreamForm{ContentType: "application/x-ndjson", Silence: " ", Fail: fail}
}

// Stream sends an answer in pieces.
//
// Two goroutines may write to the client: that of the request, and that of the
// alarm that breaks a long silence. The lock is held around every write.
type Stream struct {
	x    *Exchange
	form StreamForm
	buf  []byte // whole events that were not sent yet; never the alarm's

	mu     sync.Mutex
	sent   time.Time // when something was sent last
	opened bool      // the header is out

	alarm alarm
}

func newStream(x *Exchange, form StreamForm) *Stream { return &Stream{x: x, form: form} }

// Stream answers with a stream that is no generation, while work runs. Nothing is
// sent before the first Send, or 10 seconds; until then an error that work returns
// has a status of its own.
func (x *Exchange) Stream(r *http.Request, form *StreamForm, work func(ctx context.Context, s *Stream) error) error {
	s := newStream(x, *form)
	return s.watch(r.Context(), func(ctx context.Context) error { return work(ctx, s) })
}

// Send sends whole events at once.
func (s *Stream) Send(events []byte) error {
	s.buf = append(s.buf, events...)
	return s.push(false)
}

// fail ends a stream that has begun.
func (s *Stream) fail(f *Failure) (err error) {
	if s.buf, err = s.form.Fail(s.buf, f); err != nil {
		return err
	}
	return s.push(false)
}

func (s *Stream) push(hold bool) error {
	if hold && len(s.buf) < maxHeld {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// write sends whole events, after the header where that is not out yet. The
// lock is held.
func (s *Stream) write(events []byte) error {
	if !s.opened {
		s.opened = true
		header := s.x.Header()
		header.Set("Content-Type", s.form.ContentType)
		header.Set("Cache-Control", "no-cache, no-transform")
		header.Set("X-Accel-Buffering", "no") // nginx would hold events back
		s.x.WriteHeader(http.StatusOK)
		s.x.stream = s
	}
	s.sent = time.Now()
	if err := s.x.send(events, s.sent); err != nil {
		return err
	}
	return s.x.flush()
}

func (s *Stream) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}
