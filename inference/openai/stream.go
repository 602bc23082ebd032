package openai

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"time"

	"dure/inference"
)

// maxHeld is how many bytes of events wait for more at most.
const maxHeld = 16 << 10

// stream sends an answer as server-sent events, one for each piece of text.
//
// Two goroutines may write to the client: that of the request, and that of the
// alarm that breaks a long silence. The lock is held around every write.
type stream struct {
	x     *exchange
	shape shape
	base  head
	usage bool   // the client asked for it
	buf   []byte // whole events that were not sent yet; never the alarm's

	mu     sync.Mutex
	sent   time.Time // when something was sent last
	opened bool      // the header is out

	alarm alarm
}

func newStream(x *exchange, s shape, req *request) *stream {
	return &stream{x: x, shape: s, base: x.newHead(s, true), usage: req.includeUsage}
}

// mark stands for the text when an event is cut into what comes before and
// after it: the last string that consists of it, since the names of model and
// version come earlier.
const mark = "\x00"

func (s *stream) start(c *choice) error {
	event, err := s.event(nil, s.chunk(s.shape.piece(c, mark)))
	if err != nil {
		return err
	}
	const quoted, null = `"\u0000"`, `"logprobs":null`
	cut := bytes.LastIndex(event, []byte(quoted))
	rest := event[cut+len(quoted):]
	logprobs := bytes.Index(rest, []byte(null)) + len(null) - len("null")
	c.before, c.between, c.after = event[:cut:cut], rest[:logprobs:logprobs], rest[logprobs+len("null"):]
	if first := s.shape.first(c); first != nil {
		s.buf, err = s.event(s.buf, s.chunk(first))
	}
	return err
}

func (s *stream) text(c *choice, text string, tokens []inference.TokenLogprob) (err error) {
	s.buf = append(s.buf, c.before...)
	s.buf = appendString(s.buf, text)
	s.buf = append(s.buf, c.between...)
	if placed := c.place(text, tokens); placed == nil {
		s.buf = append(s.buf, "null"...)
	} else if s.buf, err = appendJSON(s.buf, s.shape.logprobs(placed)); err != nil {
		return err
	}
	s.buf = append(s.buf, c.after...)
	return nil
}

func (s *stream) end(c *choice, final bool) (err error) {
	last := s.chunk(s.shape.last(c))
	if final {
		last.Warnings = s.x.warnings
	}
	s.buf, err = s.event(s.buf, last)
	return err
}

// done sends the last events: usage where asked for, and the end.
func (s *stream) done(u *usage) (err error) {
	if s.usage {
		c := s.chunk(nil)
		c.Choices, c.Usage = []any{}, &u
		if s.buf, err = s.event(s.buf, c); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, "data: [DONE]\n\n"...)
	return s.push(false)
}

// fail ends a stream that has begun. The stock clients raise an exception for
// an event with a member "error"; no [DONE] follows.
func (s *stream) fail(f *failure) (err error) {
	if s.buf, err = s.event(s.buf, f.wire()); err != nil {
		return err
	}
	return s.push(false)
}

func (s *stream) push(hold bool) error {
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
func (s *stream) write(events []byte) error {
	if !s.opened {
		s.opened = true
		header := s.x.Header()
		header.Set("Content-Type", "text/event-stream; charset=utf-8")
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

func (s *stream) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

func (s *stream) chunk(choice any) chunk {
	c := chunk{head: s.base, Choices: []any{choice}}
	if s.usage {
		c.Usage = new((*usage)(nil)) // "usage":null
	}
	return c
}

// event appends v as one server-sent event.
func (s *stream) event(dst []byte, v any) ([]byte, error) {
	dst, err := appendJSON(append(dst, "data: "...), v)
	if err != nil {
		return dst, fmt.Errorf("encode event: %w", err)
	}
	return append(dst, "\n\n"...), nil
}
