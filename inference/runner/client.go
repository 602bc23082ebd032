package runner

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
	"os"
	"time"

	"dure/inference"
	"dure/inference/llm"
)

// Client is the parent's side of a child. It implements inference.Model,
// inference.Tokenizer, inference.Explainer, inference.Embedder and inference.Reranker, of
// which the child's model decides what works, and is safe for concurrent use.
type Client struct {
	process *process
	dir     string // holds the socket
	socket  string
	http    *http.Client
	info    inference.Info
	// embedding is nil for models that make text.
	embedding *inference.EmbeddingInfo
	notes     []string
}

// Info describes the loaded model.
func (c *Client) Info() inference.Info { return c.info }

// Notes say what the child derived from model and machine.
func (c *Client) Notes() []string { return c.notes }

// PID of the child.
func (c *Client) PID() int { return c.process.cmd.Process.Pid }

// Lost is closed when the child has ended, for whatever reason.
func (c *Client) Lost() <-chan struct{} { return c.process.dead }

// End says how the child ended, once Lost is closed.
func (c *Client) End() error { return c.process.lost() }

// Generate implements inference.Model.
func (c *Client) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // leaving the range closes the connection: the child sees it as a cancel
		body, err := c.post(ctx, pathGenerate, req)
		if err != nil {
			yield(inference.Event{}, err)
			return
		}
		defer body.Close()
		lines := bufio.NewReader(body)
		for {
			m, err := readMessage(lines)
			if m.Event != nil {
				m.Event.More = lines.Buffered() > 0
			}
			switch {
			case err != nil:
				yield(inference.Event{}, c.broken(ctx, err))
				return
			case m.Error != nil:
				yield(inference.Event{}, m.Error)
				return
			case !yield(*m.Event, nil) || m.Event.Kind == inference.EventDone:
				return
			}
		}
	}
}

// post sends v as JSON and returns the body of a good answer.
func (c *Client) post(ctx context.Context, path string, v any) (io.ReadCloser, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("runner: encode request: %w", err)
	}
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://runner"+path, bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	resp, err := c.http.Do(hr)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	m, err := readMessage(bufio.NewReader(resp.Body))
	if err != nil || m.Error == nil {
		return nil, inference.Errorf(inference.CodeInternal, "runner: status %d without a reason", resp.StatusCode)
	}
	return nil, m.Error
}

// broken tells why a connection failed: the caller left, or the child died. The
// connection breaks a moment before the end of the process is known.
func (c *Client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case <-c.process.dead:
		return c.process.lost()
	case <-time.After(2 * time.Second):
		return inference.Errorf(inference.CodeInternal, "runner: connection broken although the process lives: %v", err)
	}
}

// Stats of the child's model.
func (c *Client) Stats(ctx context.Context) (llm.Stats, error) {
	var s llm.Stats
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://runner"+pathStats, nil)
	if err != nil {
		return s, fmt.Errorf("runner: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return s, fmt.Errorf("runner: stats: %w", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		return s, fmt.Errorf("runner: stats: %w", err)
	}
	return s, nil
}

// Close ends the child in order: its running requests get a typed error. A
// child that does not end in time is killed. It returns when the process is
// gone.
func (c *Client) Close() error {
	c.process.life.Close()
	select {
	case <-c.process.dead:
	case <-time.After(closeGrace):
	}
	c.process.kill()
	c.http.CloseIdleConnections()
	if err := os.RemoveAll(c.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("runner: %w", err)
	}
	return nil
}
