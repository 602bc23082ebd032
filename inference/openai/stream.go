package openai

import (
	"bytes"

	"dure/inference"
	"dure/inference/front"
)

// stream encodes an answer as server-sent events, one for each piece of text.
type stream struct {
	*encoder
	base  head // of every event; made by the first Start
	usage bool // the client asked for it
}

// mark stands for the text when an event is cut into what comes before and
// after it: the last string that consists of it, since the names of model and
// version come earlier.
const mark = "\x00"

// Start implements front.Answer.
func (s *stream) Start(dst []byte, c *front.Choice) ([]byte, error) {
	if s.base.ID == "" {
		s.base = s.head(true)
	}
	own := s.start(c)
	event, err := front.AppendEvent(nil, s.chunk(s.shape.piece(own, mark)))
	if err != nil {
		return dst, err
	}
	const quoted, null = `"\u0000"`, `"logprobs":null`
	cut := bytes.LastIndex(event, []byte(quoted))
	rest := event[cut+len(quoted):]
	logprobs := bytes.Index(rest, []byte(null)) + len(null) - len("null")
	own.before, own.between, own.after = event[:cut:cut], rest[:logprobs:logprobs], rest[logprobs+len("null"):]
	if first := s.shape.first(own); first != nil {
		return front.AppendEvent(dst, s.chunk(first))
	}
	return dst, nil
}

// Event implements front.Answer. It is the path of a token: encoding/json would
// cost more than the rest of it.
func (s *stream) Event(dst []byte, c *front.Choice, ev inference.Event) (_ []byte, err error) {
	if ev.Kind != inference.EventText {
		return dst, unwritten(ev)
	}
	own := &s.choices[c.Index]
	dst = append(dst, own.before...)
	dst = front.AppendString(dst, ev.Text)
	dst = append(dst, own.between...)
	if placed := own.place(ev.Text, ev.Logprobs); placed == nil {
		dst = append(dst, "null"...)
	} else if dst, err = front.AppendJSON(dst, s.shape.logprobs(placed)); err != nil {
		return dst, err
	}
	return append(dst, own.after...), nil
}

// End implements front.Answer.
func (s *stream) End(dst []byte, c *front.Choice, last bool) ([]byte, error) {
	end := s.chunk(s.shape.last(&s.choices[c.Index]))
	if last {
		end.Warnings = s.x.Warnings()
	}
	return front.AppendEvent(dst, end)
}

// Done implements front.Answer: usage where asked for, and the end.
func (s *stream) Done(dst []byte, u inference.Usage) (_ []byte, err error) {
	if s.usage {
		used := wireUsage(u, s.seed)
		c := s.chunk(nil)
		c.Choices, c.Usage = []any{}, &used
		if dst, err = front.AppendEvent(dst, c); err != nil {
			return dst, err
		}
	}
	return append(dst, "data: [DONE]\n\n"...), nil
}

// appendFailure ends a stream. The stock clients raise an exception for an event
// with a member "error"; no [DONE] follows.
func appendFailure(dst []byte, f *front.Failure) ([]byte, error) {
	return front.AppendEvent(dst, wireFailure(f))
}

func (s *stream) chunk(choice any) chunk {
	c := chunk{head: s.base, Choices: []any{choice}}
	if s.usage {
		c.Usage = new((*usage)(nil)) // "usage":null
	}
	return c
}
