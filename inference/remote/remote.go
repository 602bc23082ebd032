// Package remote makes a model behind an OpenAI-compatible endpoint an
// inference.Model: another dure server, or any server that streams
// POST /v1/chat/completions.
//
// It owns the client side of that wire format and nothing else: no retries, no
// queue, no goroutine. It imports nothing of ours but the vocabulary. Callers:
// cmd/dure (run, ps, bench).
package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dure/inference"
)

// maxLine bounds one line of a stream; a server that sends more is broken.
const maxLine = 4 << 20

// Model is one model of one endpoint. It is safe for concurrent use.
type Model struct {
	base string // without a trailing slash, up to and including /v1
	key  string
	name string
	http *http.Client
}

// New names a model of an endpoint, for example "http://127.0.0.1:8484/v1". An
// empty model leaves the choice to the server; an empty key sends none.
func New(base, key, model string, client *http.Client) *Model {
	return &Model{base: strings.TrimRight(base, "/"), key: key, name: model, http: client}
}

// Info knows only the name: the endpoint describes the rest in its own words.
func (m *Model) Info() inference.Info { return inference.Info{Name: m.name} }

type wireRequest struct {
	Model         string              `json:"model,omitempty"`
	Messages      []inference.Message `json:"messages"`
	Stream        bool                `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Temperature float32  `json:"temperature"`
	TopP        float32  `json:"top_p"`
	TopK        int      `json:"top_k,omitempty"`
	MinP        float32  `json:"min_p,omitempty"`
	Seed        *uint64  `json:"seed,omitempty"`
	Stop        []string `json:"stop,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	IgnoreEOS   bool     `json:"ignore_eos,omitempty"`
}

func encode(name string, req *inference.Request) ([]byte, error) {
	p := req.Params
	w := wireRequest{
		Model: name, Messages: req.Messages, Stream: true,
		Temperature: p.Temperature, TopP: p.TopP, TopK: p.TopK, MinP: p.MinP,
		Stop: p.Stop, MaxTokens: p.MaxTokens, IgnoreEOS: p.IgnoreEOS,
	}
	if p.Seed != 0 {
		w.Seed = &p.Seed
	}
	w.StreamOptions.IncludeUsage = true
	return json.Marshal(w)
}

// Generate implements inference.Model. A Seed of 0 leaves the seed to the
// server.
func (m *Model) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := m.post(ctx, req)
		if err != nil {
			yield(inference.Event{}, err)
			return
		}
		defer resp.Body.Close()
		if !yield(inference.Event{Kind: inference.EventStarted}, nil) {
			return
		}
		s := &stream{lines: bufio.NewReaderSize(resp.Body, 64<<10)}
		for {
			ev, err := s.next()
			if err != nil {
				if ctx.Err() != nil {
					err = ctx.Err()
				}
				yield(inference.Event{}, err)
				return
			}
			if !yield(ev, nil) || ev.Kind == inference.EventDone {
				return
			}
		}
	}
}

func (m *Model) post(ctx context.Context, req *inference.Request) (*http.Response, error) {
	body, err := encode(m.name, req)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, m.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", m.base, err)
	}
	hr.Header.Set("Content-Type", "application/json")
	if m.key != "" {
		hr.Header.Set("Authorization", "Bearer "+m.key)
	}
	if req.ID != "" {
		hr.Header.Set("X-Request-Id", req.ID)
	}
	resp, err := m.http.Do(hr)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("endpoint %s: %w", m.base, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

// wireError is the object under "error" of an answer or event.
type wireError struct {
	Message string `json:"message"`
	Param   string `json:"param"`
	Code    any    `json:"code"` // a string; some servers send a number
	Type    string `json:"type"`
}

func refusal(resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var body struct {
		Error wireError `json:"error"`
	}
	if err != nil || json.Unmarshal(data, &body) != nil || body.Error.Message == "" {
		return inference.Errorf(inference.CodeInternal, "the endpoint answered %s: %.200s", resp.Status, data)
	}
	e := body.Error.typed(resp.StatusCode)
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// typed maps the endpoint's code, or where it is not one of ours the status.
func (w wireError) typed(status int) *inference.Error {
	e := &inference.Error{Code: inference.CodeInternal, Message: w.Message, Param: w.Param}
	code, _ := w.Code.(string)
	switch c := inference.Code(code); c {
	case inference.CodeInvalidRequest, inference.CodeUnsupported, inference.CodeModelNotFound, inference.CodeContextExceeded,
		inference.CodeQueueFull, inference.CodeLoadFailed, inference.CodeRunnerLost, inference.CodeShuttingDown:
		e.Code = c
		return e
	}
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		e.Code = inference.CodeInvalidRequest
	case http.StatusNotFound:
		e.Code = inference.CodeModelNotFound
	case http.StatusTooManyRequests:
		e.Code = inference.CodeQueueFull
	}
	return e
}

// stream reads server-sent events.
type stream struct {
	lines  *bufio.Reader
	finish inference.FinishReason
	usage  inference.Usage
}

var errTruncated = errors.New("the endpoint ended the stream before it was done")

// chunk is what one data line may hold.
type chunk struct {
	Choices []struct {
		Delta        struct{ Content string } `json:"delta"`
		FinishReason inference.FinishReason   `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		Details          struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Dure struct {
			QueueMS   float64 `json:"queue_ms"`
			PrefillMS float64 `json:"prefill_ms"`
			DecodeMS  float64 `json:"decode_ms"`
		} `json:"dure"`
	} `json:"usage"`
	Error *wireError `json:"error"`
}

// next returns the next text, or EventDone.
func (s *stream) next() (inference.Event, error) {
	for {
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
		if text := s.take(&c); text != "" {
			return inference.Event{Kind: inference.EventText, Text: text}, nil
		}
	}
}

func (s *stream) take(c *chunk) (text string) {
	for _, choice := range c.Choices {
		text += choice.Delta.Content
		if choice.FinishReason != "" {
			s.finish = choice.FinishReason
		}
	}
	if u := c.Usage; u != nil {
		s.usage = inference.Usage{
			PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, CachedTokens: u.Details.Cached,
			QueueMS: u.Dure.QueueMS, PrefillMS: u.Dure.PrefillMS, DecodeMS: u.Dure.DecodeMS,
		}
	}
	return text
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
