package door

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"dure/runtime/board"
)

// maxAnswer is the most bytes of an answer: a full result with its escapes.
const maxAnswer = 64 << 20

// A Client calls the board through a door.
type Client struct {
	path string
	http *http.Client
}

// NewClient makes a client of the socket at a path. It connects with the first call.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return &Client{path: path, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do runs a statement.
func (c *Client) Do(ctx context.Context, s board.Statement) (board.Result, error) {
	body := statement{SQL: s.SQL, Args: s.Args}
	if s.ID != (board.ID{}) {
		body.ID = s.ID.String()
	}
	return c.result(ctx, "/v1/sql", body)
}

// Claim takes a row.
func (c *Client) Claim(ctx context.Context, q board.Claim) (board.Result, error) {
	body := claim{Table: q.Table, Crew: q.Crew}
	if q.ID != (board.ID{}) {
		body.ID = q.ID.String()
	}
	return c.result(ctx, "/v1/claim", body)
}

// Wait waits for a change beyond after; limit 0 is as long as it may.
func (c *Client) Wait(ctx context.Context, after uint64, limit time.Duration, tables ...string) (uint64, error) {
	var n Change
	err := c.call(ctx, http.MethodPost, "/v1/wait", wait{After: after, Tables: tables, Seconds: limit.Seconds()}, &n)
	return n.Change, err
}

// Tables describes all tables with all their columns.
func (c *Client) Tables(ctx context.Context) ([]board.Table, error) {
	var all []board.Table
	return all, c.call(ctx, http.MethodGet, "/v1/tables", nil, &all)
}

func (c *Client) result(ctx context.Context, route string, body any) (board.Result, error) {
	var data json.RawMessage
	if err := c.call(ctx, http.MethodPost, route, body, &data); err != nil {
		return board.Result{}, err
	}
	return DecodeResult(data)
}

func (c *Client) call(ctx context.Context, method, route string, body, into any) error {
	var data io.Reader
	if body != nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(body); err != nil {
			return fmt.Errorf("board at %s: %w", c.path, err)
		}
		data = &b
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://board"+route, data)
	if err != nil {
		return fmt.Errorf("board at %s: %w", c.path, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("board at %s: %w", c.path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("board at %s: %w", c.path, err)
	case len(answer) > maxAnswer:
		return fmt.Errorf("board at %s: an answer of more than %d bytes", c.path, maxAnswer)
	case resp.StatusCode != http.StatusOK:
		return fail(answer, resp.Status)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("board at %s: its answer: %w", c.path, err)
	}
	return nil
}
