package remote

import (
	"encoding/json"
	"strings"

	"dure/inference"
)

// answer implements wire.
func (openAI) answer(m *Model, _ *inference.Request) answer { return &stream{m: m} }

// stream reads the chunks of one answer.
type stream struct {
	m        *Model
	finish   inference.FinishReason
	usage    inference.Usage
	warnings []inference.Warning
}

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
	Warnings []string   `json:"warnings"` // of another dure server
	Error    *wireError `json:"error"`
}

// take implements answer.
func (s *stream) take(data []byte) ([]inference.Event, error) {
	if string(data) == "[DONE]" {
		switch s.finish {
		case "":
			return nil, s.m.errorf(Garbled, "said that the answer is whole and not why it ended")
		case "content_filter":
			return nil, s.m.errorf(Refused, "its filter ended the answer")
		}
		return []inference.Event{{Kind: inference.EventDone, Finish: s.finish, Usage: &s.usage, Warnings: s.warnings}}, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, s.m.errorf(Garbled, "sent an event that cannot be read, %q: %v", s.m.excerpt(data, 80), err)
	}
	if c.Error != nil {
		return nil, s.m.said(*c.Error, 0)
	}
	return s.add(&c), nil
}

func (s *stream) add(c *chunk) (all []inference.Event) {
	for _, choice := range c.Choices {
		text, logprobs := choice.Delta.Content+choice.Text, choice.Logprobs.tokens()
		all = append(all, choice.Delta.events()...)
		if text != "" || logprobs != nil {
			all = append(all, inference.Event{Kind: inference.EventText, Text: text, Logprobs: logprobs})
		}
		if choice.FinishReason != "" {
			s.finish = choice.FinishReason
		}
	}
	s.warnings = append(s.warnings, warningsOf(c.Warnings)...)
	if u := c.Usage; u != nil {
		s.usage = inference.Usage{
			PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, CachedTokens: u.Details.Cached, ReasoningTokens: u.Completion.Reasoning,
			QueueMS: u.Dure.QueueMS, RestoreMS: u.Dure.RestoreMS, PrefillMS: u.Dure.PrefillMS, DecodeMS: u.Dure.DecodeMS,
		}
		if p := u.Dure.PrefixUsage; p.Tier != "" {
			s.usage.Prefix = &p
		}
	}
	return all
}

// warningsOf reads the warnings of another dure server, which are texts that begin with
// their code.
func warningsOf(texts []string) (all []inference.Warning) {
	for _, text := range texts {
		w := inference.Warning{Code: inference.CodeIgnored, Message: text}
		for _, code := range []inference.Code{inference.CodeToolParse, inference.CodeIgnored} {
			if rest, ok := strings.CutPrefix(text, string(code)+": "); ok {
				w = inference.Warning{Code: code, Message: rest}
			}
		}
		all = append(all, w)
	}
	return all
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
