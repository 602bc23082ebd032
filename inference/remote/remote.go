// Package remote makes a model behind an OpenAI-compatible endpoint an
// inference.Model: another dure server, or any server that streams
// POST /v1/chat/completions (and for raw prompts /v1/completions). Parameters
// that OpenAI's API lacks go under llama-server's names, and only where a
// request sets them.
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
	path, body, err := encode(m.name, req)
	if err != nil {
		return nil, err
	}
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, m.base+path, bytes.NewReader(body))
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
		inference.CodeQueueFull, inference.CodeLoadFailed, inference.CodeRunnerLost, inference.CodeShuttingDown,
		inference.CodeDeadline, inference.CodeAgentStopped:
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
