package openai

import (
	"bytes"
	"fmt"
	"net/http"

	"dure/inference"
)

// stream sends an answer as server-sent events. Each event is flushed, so the
// client has a token as soon as there is one.
type stream struct {
	x        *exchange
	base     head
	usage    bool // the client asked for it
	warnings []string
	seed     uint64
	// before and after enclose the text in an event that carries text: all
	// of it but the text is the same each time.
	before, after []byte
	buf           []byte // of the event at hand
}

func newStream(x *exchange, base head, req *chatRequest, seed uint64) *stream {
	base.Object = "chat.completion.chunk"
	return &stream{x: x, base: base, usage: req.includeUsage, warnings: req.warnings, seed: seed}
}

// mark stands for the text when an event is cut into what comes before and
// after it: the last string that consists of it, since the names of model and
// version come earlier.
const mark = "\x00"

// begin sends the header and the first event, which tells the role.
func (s *stream) begin() error {
	event, err := s.event(nil, s.chunk(delta{Content: new(mark)}, nil))
	if err != nil {
		return err
	}
	const quoted = `"\u0000"`
	cut := bytes.LastIndex(event, []byte(quoted))
	s.before, s.after = event[:cut:cut], event[cut+len(quoted):]
	if s.buf, err = s.event(nil, s.chunk(delta{Role: inference.RoleAssistant, Content: new("")}, nil)); err != nil {
		return err
	}
	header := s.x.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no") // nginx would hold events back
	s.x.WriteHeader(http.StatusOK)
	s.x.stream = s
	return s.flush()
}

func (s *stream) text(text string) error {
	s.buf = append(s.buf[:0], s.before...)
	s.buf = appendString(s.buf, text)
	s.buf = append(s.buf, s.after...)
	return s.flush()
}

func (s *stream) flush() error {
	if err := s.x.send(s.buf); err != nil {
		return err
	}
	return s.x.flush()
}

// done sends the last events: finish, usage where asked for, end.
func (s *stream) done(finish inference.FinishReason, u inference.Usage) error {
	last := s.chunk(delta{}, &finish)
	last.Warnings = s.warnings
	buf, err := s.event(s.buf[:0], last)
	if err == nil && s.usage {
		c := s.chunk(delta{}, nil)
		c.Choices = []chunkChoice{}
		c.Usage = new(wireUsage(u, s.seed))
		buf, err = s.event(buf, c)
	}
	if err != nil {
		return err
	}
	s.buf = append(buf, "data: [DONE]\n\n"...)
	return s.flush()
}

// fail ends a stream that has begun. The stock clients raise an exception for
// an event with a member "error"; no [DONE] follows.
func (s *stream) fail(f *failure) error {
	buf, err := s.event(s.buf[:0], f.wire())
	if err != nil {
		return err
	}
	s.buf = buf
	return s.flush()
}

func (s *stream) chunk(d delta, finish *inference.FinishReason) chunk {
	c := chunk{head: s.base, Choices: []chunkChoice{{Delta: d, Finish: finish}}}
	if s.usage {
		c.Usage = new((*usage)(nil)) // "usage":null
	}
	return c
}

// event appends v as one server-sent event.
func (s *stream) event(dst []byte, v any) ([]byte, error) {
	dst, err := appendJSON(append(dst, "data: "...), v)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return append(dst, "\n\n"...), nil
}
