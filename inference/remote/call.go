package remote

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"dure/inference"
)

// call is one request and the reading of its answer.
type call struct {
	m      *Model
	parent context.Context // the caller's, to tell its end from a limit's; lives as long as the range
	ctx    context.Context
	cancel context.CancelCauseFunc
	total  *time.Timer
	quiet  *time.Timer // runs while something is waited for; nil where nothing limits that
	// silence says that quiet is the limit between two lines, no more that of the first.
	silence bool
	body    io.ReadCloser
	lines   *bufio.Reader
	read    int // bytes of the body
}

// call sends a request and returns when its answer begins.
func (m *Model) call(ctx context.Context, req *inference.Request) (*call, error) {
	path, body, err := m.wire.encode(&m.at, req)
	if err != nil {
		return nil, err
	}
	c := &call{m: m, parent: ctx}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.total = c.after(m.at.Limits.Total, m.errorf(Overdue, "the answer was not whole after %v", m.at.Limits.Total))
	if err := c.begin(path, body, req); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// after ends the call with an error when the time is up, unless it is stopped.
func (c *call) after(d time.Duration, err error) *time.Timer {
	if d <= 0 {
		return nil
	}
	return time.AfterFunc(d, func() { c.cancel(err) })
}

func (c *call) begin(path string, body []byte, req *inference.Request) error {
	m := c.m
	hr, err := http.NewRequestWithContext(c.ctx, http.MethodPost, m.at.Base+path, bytes.NewReader(body))
	if err != nil {
		return m.errorf(Refused, "%v", err)
	}
	hr.Header.Set("Content-Type", "application/json")
	hr.Header.Set("Accept", "text/event-stream")
	// A server may close a connection that was kept just as it is used again. Such a
	// request is sent once more; the key itself is not (net/http.Transport).
	hr.Header["Idempotency-Key"] = []string{}
	if req.ID != "" {
		hr.Header.Set("X-Request-Id", req.ID)
	}
	m.wire.head(hr.Header, &m.at, req)
	c.quiet = c.after(m.at.Limits.FirstByte, m.errorf(Late, "nothing came within %v", m.at.Limits.FirstByte))
	resp, err := m.http.Do(hr)
	if err != nil {
		return c.broken(m.unreached(err))
	}
	c.body = resp.Body
	if err := c.accept(resp); err != nil {
		return err
	}
	c.lines = bufio.NewReaderSize(resp.Body, 64<<10)
	return nil
}

// close ends the connection where the answer was not read to its end.
func (c *call) close() {
	for _, t := range []*time.Timer{c.total, c.quiet} {
		if t != nil {
			t.Stop()
		}
	}
	c.cancel(nil)
	if c.body != nil {
		_ = c.body.Close()
	}
}

// broken is the error of a call: the end of the caller's context or of a limit, where
// one of them is the reason, and err otherwise.
func (c *call) broken(err error) error {
	if c.parent.Err() != nil {
		return c.parent.Err()
	}
	var limit *Error
	if errors.As(context.Cause(c.ctx), &limit) {
		return limit
	}
	return err
}

// unreached is why there was no answer.
func (m *Model) unreached(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the address is in the message already
	}
	var (
		name     *net.DNSError
		host     x509.HostnameError
		unknown  x509.UnknownAuthorityError
		invalid  x509.CertificateInvalidError
		received *net.OpError
	)
	switch {
	case errors.As(err, &host), errors.As(err, &unknown), errors.As(err, &invalid):
		return m.errorf(Untrusted, "its certificate is not to be trusted: %v", err)
	case errors.As(err, &name) && name.IsNotFound:
		return m.errorf(Refused, "there is no such host; correct its address")
	case errors.As(err, &received) && received.Op == "dial":
		return m.errorf(Unreachable, "cannot be reached: %v", err)
	}
	return m.errorf(Unreachable, "broke off before an answer: %v", err)
}

// accept looks at what kind of answer came.
func (c *call) accept(resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusOK:
		if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind == "text/event-stream" {
			return nil
		}
		begin, err := c.beginning(resp)
		if err != nil {
			return err
		}
		return c.m.errorf(Garbled, "answered with %q and no stream of events; is its address right, up to /v1? It says: %q", resp.Header.Get("Content-Type"), c.m.excerpt(begin, 200))
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		to, _ := resp.Location()
		where := "elsewhere"
		if to != nil {
			where = "to " + to.Host
		}
		return c.m.errorf(Refused, "answered %s and sends %s; redirects are not followed, since the key would go along: correct the address", resp.Status, where)
	}
	return c.refusal(resp)
}

// beginning is the first part of a body that is none of a stream.
func (c *call) beginning(resp *http.Response) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil && (c.parent.Err() != nil || c.ctx.Err() != nil) {
		return nil, c.broken(err)
	}
	return data, nil // what came before the connection broke says enough
}

func (c *call) refusal(resp *http.Response) error {
	data, err := c.beginning(resp)
	if err != nil {
		return err
	}
	var body struct {
		Error wireError `json:"error"`
	}
	var e *Error
	if json.Unmarshal(data, &body) != nil || body.Error.Message == "" {
		kind, code := kindOf(resp.StatusCode)
		e = c.m.errorf(kind, "answered %s: %q", resp.Status, c.m.excerpt(data, 200))
		e.Status, e.Cause.Code = resp.StatusCode, code
	} else {
		e = c.m.said(body.Error, resp.StatusCode)
	}
	e.Cause.RetryAfter = after(resp.Header, time.Now())
	return e
}

// next reads until something is added to the answer.
func (c *call) next(to answer) ([]inference.Event, error) {
	for {
		data, err := c.data()
		if err != nil {
			return nil, err
		}
		events, err := to.take(data)
		if len(events) > 0 || err != nil {
			return events, err
		}
	}
}

// data returns the payload of the next "data:" line. All known servers send an event's
// data as one line.
func (c *call) data() ([]byte, error) {
	for {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		name, rest, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "data":
			return bytes.TrimSpace(rest), nil
		case "", "event", "id", "retry": // an empty name is that of a comment
		default:
			return nil, c.m.errorf(Garbled, "sent a line that is none of a stream of events: %q", c.m.excerpt(line, 80))
		}
	}
}

// listen starts the time of a silence.
func (c *call) listen() {
	limit := c.m.at.Limits.Silence
	switch {
	case c.silence:
		c.quiet.Reset(limit)
	case limit > 0:
		c.silence, c.quiet = true, c.after(limit, c.m.errorf(Late, "nothing more came for %v", limit))
	default:
		c.quiet = nil
	}
}

// line reads a line within its limits. The time counts only while it is waited for, not
// while the caller works.
func (c *call) line() ([]byte, error) {
	limits := &c.m.at.Limits
	if c.read > 0 {
		c.listen()
	}
	if c.quiet != nil {
		defer c.quiet.Stop()
	}
	var line []byte
	for {
		part, err := c.lines.ReadSlice('\n')
		c.read += len(part)
		line = append(line, part...)
		switch {
		case len(line) > limits.Line:
			return nil, c.m.errorf(Garbled, "sent a line that is longer than %d bytes", limits.Line)
		case c.read > limits.Body:
			return nil, c.m.errorf(Garbled, "sent an answer that is longer than %d bytes", limits.Body)
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, c.broken(c.m.errorf(Cut, "the stream ended before the answer did"))
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, c.broken(c.m.errorf(Cut, "the stream broke off before the answer's end: %v", err))
		}
	}
}
