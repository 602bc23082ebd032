package swarm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dure/inference"
)

const (
	maxLine = 4 << 20
	// maxTries of a request that is refused because the server is busy.
	maxTries = 20
	// maxEvents more than tokens that were asked for: a server that sends more
	// does not know the field that limits them.
	maxEvents = 64
)

type wireAsk struct {
	Model       string              `json:"model,omitempty"`
	Messages    []inference.Message `json:"messages"`
	MaxTokens   int                 `json:"max_tokens"`
	Temperature float64             `json:"temperature"`
	Stream      bool                `json:"stream"`
	Options     struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	IgnoreEOS bool `json:"ignore_eos,omitempty"`
	inference.Caller
}

// Chat sends one request, follows refusals that say when to come again, and
// reads the answer. seen, which may be nil, is called after each delivery.
func (e *Endpoint) Chat(ctx context.Context, ask Ask, seen func()) Turn {
	t := Turn{Messages: ask.Messages, Sent: time.Now(), Prompt: notTold, Completion: notTold, Read: notTold}
	for {
		again, err := e.try(ctx, ask, &t, seen)
		if err == nil || again < 0 || t.Refusals >= maxTries {
			t.Err = err
			break
		}
		t.Refusals++
		if !sleep(ctx, again) {
			t.Err = fail(KindInterrupted, "while waiting to come again")
			break
		}
	}
	t.Ended = time.Now()
	return t
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

var errStalled = errors.New("the server is silent")

// try is one request. again is when to repeat it, negative for never.
func (e *Endpoint) try(ctx context.Context, ask Ask, t *Turn, seen func()) (again time.Duration, _ *Failure) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(e.Stall, func() { cancel(errStalled) })
	defer alarm.Stop()
	resp, err := e.post(inner, "/chat/completions", e.encode(ask))
	if err != nil {
		return -1, e.broken(inner, KindUnreachable, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refusal(resp)
	}
	clock := &stamped{r: resp.Body}
	s := &stream{lines: bufio.NewReaderSize(clock, 64<<10), clock: clock, turn: t, most: ask.Output + maxEvents, seen: seen}
	for !s.done {
		f, err := s.next()
		if err != nil {
			return -1, e.broken(inner, KindDropped, err)
		}
		if f != nil {
			return -1, f
		}
		alarm.Reset(e.Stall)
	}
	t.Text = s.text.String()
	if len(t.Deliveries) == 0 {
		return -1, fail(KindEmpty, "the answer has no text")
	}
	return -1, nil
}

func (e *Endpoint) encode(ask Ask) wireAsk {
	w := wireAsk{Model: e.Model, Messages: ask.Messages, MaxTokens: ask.Output, Stream: true}
	w.Options.Usage = true
	w.IgnoreEOS = e.Kind != Other
	if e.Kind == Dure {
		w.Caller = ask.Caller
	}
	return w
}

// broken tells why a connection ended: by us, by silence, or by the server.
func (e *Endpoint) broken(ctx context.Context, kind string, err error) *Failure {
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		return fail(KindStalled, "nothing arrived for %v", e.Stall)
	case ctx.Err() != nil:
		return fail(KindInterrupted, "%v", ctx.Err())
	}
	return fail(kind, "%v", err)
}

// refusal reads an answer that is no stream.
func refusal(resp *http.Response) (again time.Duration, _ *Failure) {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what arrived is what there is to show
	f := fail(fmt.Sprintf("%s %d", KindStatus, resp.StatusCode), "%.300s", data)
	var body struct {
		Error struct {
			Message string `json:"message"`
			Code    any    `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &body) == nil && body.Error.Message != "" {
		f.Text = body.Error.Message
		if code, ok := body.Error.Code.(string); ok && code != "" {
			f.Kind += ": " + code
		}
	}
	busy := resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); busy && err == nil && s >= 0 && s <= 600 {
		return time.Duration(s) * time.Second, f
	}
	return -1, f
}

// stamped remembers when bytes arrived last.
type stamped struct {
	r  io.Reader
	at time.Time
}

// Read implements io.Reader.
func (s *stamped) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.at = time.Now()
	return n, err
}

// stream reads server-sent events into a turn.
type stream struct {
	lines  *bufio.Reader
	clock  *stamped
	turn   *Turn
	text   strings.Builder
	events int
	most   int
	seen   func()
	done   bool
}

// chunk is what a data line may hold.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
		} `json:"delta"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    *struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Dure struct {
			RestoreMS float64 `json:"restore_ms"`
			Reason    string  `json:"reason"`
		} `json:"dure"`
	} `json:"usage"`
	Timings *struct {
		Read *int `json:"prompt_n"`
	} `json:"timings"`
	Error *struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
	} `json:"error"`
}

// next takes one line. A failure is the server's word, an error the end of the
// connection.
func (s *stream) next() (*Failure, error) {
	line, err := s.line()
	if err != nil {
		return nil, err
	}
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return nil, nil // a comment, or the end of an event
	}
	if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
		s.done = true
		return nil, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return fail(KindMalformed, "%v in %.80q", err, data), nil
	}
	if c.Error != nil {
		return fail(fmt.Sprintf("%s: %v", KindEvent, c.Error.Code), "%s", c.Error.Message), nil
	}
	return s.take(&c), nil
}

func (s *stream) take(c *chunk) *Failure {
	text := false
	for _, choice := range c.Choices {
		s.text.WriteString(choice.Delta.Content)
		text = text || choice.Delta.Content != "" || choice.Delta.Reasoning != ""
	}
	if text {
		s.deliver()
		if s.events++; s.events > s.most {
			return fail(KindEndless, "%d pieces of text, %d tokens were asked for", s.events, s.most-maxEvents)
		}
	}
	if u := c.Usage; u != nil {
		s.turn.Prompt, s.turn.Completion, s.turn.RestoreMS = u.Prompt, u.Completion, u.Dure.RestoreMS
		s.turn.Reason = u.Dure.Reason
		if u.Details != nil && u.Details.Cached != nil && s.turn.Read == notTold {
			s.turn.Read = u.Prompt - *u.Details.Cached
		}
	}
	if c.Timings != nil && c.Timings.Read != nil {
		s.turn.Read = *c.Timings.Read // what was computed, whatever counts as cached
	}
	return nil
}

func (s *stream) deliver() {
	d := s.turn.Deliveries
	if n := len(d); n > 0 && d[n-1].At.Equal(s.clock.at) {
		d[n-1].Events++
		return
	}
	s.turn.Deliveries = append(d, Delivery{s.clock.at, 1})
	if s.seen != nil {
		s.seen()
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
			return nil, errors.New("the stream ended before it was done")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read stream: %w", err)
		case len(line) > maxLine:
			return nil, fmt.Errorf("read stream: a line is longer than %d bytes", maxLine)
		}
	}
}
