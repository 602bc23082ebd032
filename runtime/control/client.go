package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"syscall"

	"dure/runtime/gate"
)

// ErrNotRunning: nobody serves the socket.
var ErrNotRunning = errors.New("no team runs")

// Client asks the process of a team.
type Client struct{ http http.Client }

// Dial makes a client of a socket; it connects with each request.
func Dial(path string) *Client {
	return &Client{http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("%w in %s; dure swarm toy starts one", ErrNotRunning, filepath.Dir(path))
		}
		return conn, err
	}}}}
}

// Status is the team now.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return c.do(ctx, http.MethodGet, "status", nil)
}

// Stop, Resume, End and Overrule are a person's decisions; each returns what the team
// is then.
func (c *Client) Stop(ctx context.Context, by, reason string) (Status, error) {
	return c.do(ctx, http.MethodPost, "stop", &decision{By: by, Reason: reason})
}

// Resume lets the team go on; blocked calls are refused.
func (c *Client) Resume(ctx context.Context, by, reason string) (Status, error) {
	return c.do(ctx, http.MethodPost, "resume", &decision{By: by, Reason: reason})
}

// End ends the team for good.
func (c *Client) End(ctx context.Context, by, reason string) (Status, error) {
	return c.do(ctx, http.MethodPost, "end", &decision{By: by, Reason: reason})
}

// Overrule has a blocked call carried out.
func (c *Client) Overrule(ctx context.Context, by string, call gate.CallID, reason string) (Status, error) {
	return c.do(ctx, http.MethodPost, "overrule", &decision{By: by, Reason: reason, Call: call})
}

func (c *Client) do(ctx context.Context, method, path string, d *decision) (Status, error) {
	var body io.Reader
	if d != nil {
		b, err := json.Marshal(d)
		if err != nil {
			return Status{}, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://team/v1/"+path, body)
	if err != nil {
		return Status{}, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // its address is not one that a person knows
			err = u.Err
		}
		return Status{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		var f failure
		if json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(&f) != nil {
			f.Error = res.Status
		}
		return Status{}, errors.New(f.Error)
	}
	var s Status
	if err := json.NewDecoder(res.Body).Decode(&s); err != nil {
		return s, fmt.Errorf("%s: answer: %w", path, err)
	}
	return s, nil
}
