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
	var err error
	if own.said, err = s.frame(s.shape.piece(own, mark)); err != nil {
		return dst, err
	}
	if thought := s.shape.thought(own, mark); thought != nil {
		if own.thought, err = s.frame(thought); err != nil {
			return dst, err
		}
	}
	if first := s.shape.first(own); first != nil {
		return front.AppendEvent(dst, s.chunk(first))
	}
	return dst, nil
}

// frame cuts an event whose text is the mark.
func (s *stream) frame(choice any) (f frame, err error) {
	event, err := front.AppendEvent(nil, s.chunk(choice))
	if err != nil {
		return f, err
	}
	const quoted, null = `"\u0000"`, `"logprobs":null`
	cut := bytes.LastIndex(event, []byte(quoted))
	rest := event[cut+len(quoted):]
	logprobs := bytes.Index(rest, []byte(null)) + len(null) - len("null")
	return frame{event[:cut:cut], rest[:logprobs:logprobs], rest[logprobs+len("null"):]}, nil
}

// Event implements front.Answer. It is the path of a token: encoding/json would
// cost more than the rest of it.
func (s *stream) Event(dst []byte, c *front.Choice, ev inference.Event) (_ []byte, err error) {
	own := &s.choices[c.Index]
	f := &own.said
	switch ev.Kind {
	case inference.EventToolCall:
		if call := s.shape.call(own, ev.Call); call != nil {
			return front.AppendEvent(dst, s.chunk(call))
		}
		return dst, unwritten(ev)
	case inference.EventReasoning:
		if f = &own.thought; f.before == nil {
			return dst, unwritten(ev)
		}
	}
	dst = append(dst, f.before...)
	dst = front.AppendString(dst, ev.Text)
	dst = append(dst, f.between...)
	var tokens []placed
	if ev.Kind == inference.EventText { // logprobs are those of the content
		tokens = own.place(ev.Text, ev.Logprobs)
	}
	if tokens == nil {
		dst = append(dst, "null"...)
	} else if dst, err = front.AppendJSON(dst, s.shape.logprobs(tokens)); err != nil {
		return dst, err
	}
	return append(dst, f.after...), nil
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
