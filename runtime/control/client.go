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

	"dure/runtime/budget"
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
			return nil, fmt.Errorf("%w in %s", ErrNotRunning, filepath.Dir(path))
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

// View is the run now. ErrNotRunning: nobody runs it.
func (c *Client) View(ctx context.Context) (v View, err error) {
	err = c.ask(ctx, http.MethodGet, "run", nil, &v)
	return v, err
}

// Order asks something of a run by its name: approve, reject, answer, pause, unpause,
// finish, steer, kill, park, reopen, extend.
func (c *Client) Order(ctx context.Context, name string, o Order) (v View, err error) {
	err = c.ask(ctx, http.MethodPost, "run/"+name, o, &v)
	return v, err
}

// Ask asks an agent something beside its work.
func (c *Client) Ask(ctx context.Context, by, agent, question string) (string, error) {
	var a Answer
	err := c.ask(ctx, http.MethodPost, "run/ask", Order{By: by, Agent: agent, Text: question}, &a)
	return a.Answer, err
}

// Caps is what a run's models have used; an order with caps puts these in force.
func (c *Client) Caps(ctx context.Context, o Order) (r budget.Report, err error) {
	err = c.ask(ctx, http.MethodPost, "run/caps", o, &r)
	return r, err
}

func (c *Client) do(ctx context.Context, method, path string, d *decision) (s Status, err error) {
	if d == nil {
		err = c.ask(ctx, method, path, nil, &s)
		return s, err
	}
	err = c.ask(ctx, method, path, d, &s)
	return s, err
}

func (c *Client) ask(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://team/v1/"+path, body)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // its address is not one that a person knows
			err = u.Err
		}
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		var f failure
		if json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(&f) != nil {
			f.Error = res.Status
		}
		return &Problem{res.StatusCode, f.Error}
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("%s: answer: %w", path, err)
	}
	return nil
}
