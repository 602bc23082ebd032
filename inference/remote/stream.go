package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"dure/inference"
)

// stream reads server-sent events.
type stream struct {
	lines  *bufio.Reader
	ready  []inference.Event // of the chunk that was read last
	finish inference.FinishReason
	usage  inference.Usage
}

var errTruncated = errors.New("the endpoint ended the stream before it was done")

// chunk is what one data line may hold.
type chunk struct {
	Choices []struct {
		Delta        delta                  `json:"delta"`
		Text         string                 `json:"text"` // of a text completion
		Logprobs     *wireLogprobs          `json:"logprobs"`
		FinishReason inference.FinishReason `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		Details          struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Completion struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		Dure struct {
			QueueMS   float64 `json:"queue_ms"`
			RestoreMS float64 `json:"restore_ms"`
			PrefillMS float64 `json:"prefill_ms"`
			DecodeMS  float64 `json:"decode_ms"`
			inference.PrefixUsage
		} `json:"dure"`
	} `json:"usage"`
	Error *wireError `json:"error"`
}

// next returns the next piece of the answer, or EventDone.
func (s *stream) next() (inference.Event, error) {
	for {
		if len(s.ready) > 0 {
			ev := s.ready[0]
			s.ready = s.ready[1:]
			return ev, nil
		}
		data, err := s.data()
		if err != nil {
			return inference.Event{}, err
		}
		if string(data) == "[DONE]" {
			return inference.Event{Kind: inference.EventDone, Finish: s.finish, Usage: &s.usage}, nil
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return inference.Event{}, fmt.Errorf("stream event %.80q: %w", data, err)
		}
		if c.Error != nil {
			return inference.Event{}, c.Error.typed(0)
		}
		s.take(&c)
	}
}

func (s *stream) take(c *chunk) {
	for _, choice := range c.Choices {
		text, logprobs := choice.Delta.Content+choice.Text, choice.Logprobs.tokens()
		s.ready = append(s.ready, choice.Delta.events()...)
		if text != "" || logprobs != nil {
			s.ready = append(s.ready, inference.Event{Kind: inference.EventText, Text: text, Logprobs: logprobs})
		}
		if choice.FinishReason != "" {
			s.finish = choice.FinishReason
		}
	}
	if u := c.Usage; u != nil {
		s.usage = inference.Usage{
			PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, CachedTokens: u.Details.Cached, ReasoningTokens: u.Completion.Reasoning,
			QueueMS: u.Dure.QueueMS, RestoreMS: u.Dure.RestoreMS, PrefillMS: u.Dure.PrefillMS, DecodeMS: u.Dure.DecodeMS,
		}
		if p := u.Dure.PrefixUsage; p.Tier != "" {
			s.usage.Prefix = &p
		}
	}
}

// data returns the payload of the next "data:" line; comments and other fields
// are skipped.
func (s *stream) data() ([]byte, error) {
	for {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			return bytes.TrimSpace(rest), nil
		}
	}
}

func (s *stream) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, errTruncated
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read stream: %w", err)
		case len(line) > maxLine:
			return nil, fmt.Errorf("read stream: a line is longer than %d bytes", maxLine)
		}
	}
}

// wireLogprobs are those of a chat chunk. Endpoints tell no token ids.
type wireLogprobs struct {
	Content []struct {
		wireCandidate
		Top []wireCandidate `json:"top_logprobs"`
	} `json:"content"`
}

type wireCandidate struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // null where the endpoint does not tell them
}

func (w *wireLogprobs) tokens() []inference.TokenLogprob {
	if w == nil {
		return nil
	}
	all := make([]inference.TokenLogprob, len(w.Content))
	for i, c := range w.Content {
		all[i].Candidate = c.candidate()
		for _, t := range c.Top {
			all[i].Top = append(all[i].Top, t.candidate())
		}
	}
	return all
}

// unknownToken is the id of a token whose id the endpoint does not tell.
const unknownToken = -1

func (w wireCandidate) candidate() inference.Candidate {
	c := inference.Candidate{Token: unknownToken, Logprob: w.Logprob, Bytes: []byte(w.Token)}
	if w.Bytes != nil {
		c.Bytes = make([]byte, len(w.Bytes))
		for i, b := range w.Bytes {
			c.Bytes[i] = byte(b)
		}
	}
	return c
}
