package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// answer is a response of 200 or 206, and what was said on the way to it.
type answer struct {
	*http.Response
	// hub holds the headers in which the first server told of the file.
	hub http.Header
	// at is where redirects led.
	at *url.URL
	// body ends with errStalled where nothing comes.
	body io.ReadCloser
}

// wants is what is asked of a URL.
type wants struct {
	from, to int64 // bytes, to not included; to 0 asks for all
	ifRange  string
}

const maxRedirects = 10

// get asks for u on behalf of l and follows redirects by hand, because the token
// must go to l's own server only and the hub's headers come with its redirect.
// The caller closes the body. Errors are *WebError.
func (w Web) get(ctx context.Context, l Link, u string, want wants) (*answer, error) {
	origin, err := parseURL(l.URL)
	if err != nil {
		return nil, err
	}
	if l.Token != "" && origin.Scheme != "https" && !loopback(origin) {
		return nil, &WebError{URL: bare(origin), Reason: "the token would travel unencrypted", Failure: FailureOther, Fix: "use an https address"}
	}
	at, err := parseURL(u)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	dog := time.AfterFunc(w.stall(), func() { cancel(errStalled) })
	a := &answer{hub: http.Header{}}
	for range maxRedirects {
		resp, err := w.hop(ctx, l, origin, at, want)
		if err != nil {
			dog.Stop()
			err = networkError(at, stallCause(ctx, err))
			cancel(nil)
			return nil, err
		}
		if sameOrigin(at, origin) {
			a.note(resp.Header)
		}
		if next := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && next != "" {
			resp.Body.Close()
			to, err := at.Parse(next)
			if err == nil {
				err = allowed(to)
			}
			if err != nil {
				dog.Stop()
				cancel(nil)
				return nil, &WebError{URL: bare(at), Status: resp.StatusCode, Reason: fmt.Sprintf("it redirects to where dure does not go: %v", err), Failure: FailureOther}
			}
			at = to
			continue
		}
		if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
			dog.Stop()
			err := statusError(at, resp, time.Now())
			cancel(nil)
			return nil, err
		}
		dog.Reset(w.stall())
		a.Response, a.at = resp, at
		a.body = &watched{ctx: ctx, cancel: cancel, dog: dog, every: w.stall(), in: resp.Body, at: at}
		return a, nil
	}
	dog.Stop()
	cancel(nil)
	return nil, &WebError{URL: bare(origin), Reason: "it redirects without end", Failure: FailureOther}
}

// hop sends one request.
func (w Web) hop(ctx context.Context, l Link, origin, at *url.URL, want wants) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "dure")
	req.Header.Set("Accept-Encoding", "identity") // the hash is that of the plain file
	if want.to > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", want.from, want.to-1))
		if want.ifRange != "" {
			req.Header.Set("If-Range", want.ifRange)
		}
	}
	if l.Token != "" && sameOrigin(at, origin) {
		req.Header.Set("Authorization", "Bearer "+l.Token)
	}
	return w.roundTripper().RoundTrip(req)
}

// note keeps what the first server says of the file.
func (a *answer) note(h http.Header) {
	for _, name := range []string{"X-Linked-Etag", "X-Linked-Size", "X-Repo-Commit"} {
		if v := h.Get(name); v != "" {
			a.hub.Set(name, v)
		}
	}
}

// stallCause is errStalled where that ended the context.
func stallCause(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

// watched is a body whose connection is given up when nothing comes.
type watched struct {
	ctx    context.Context // of the request, to tell a stall from a cancel
	cancel context.CancelCauseFunc
	dog    *time.Timer
	every  time.Duration
	in     io.ReadCloser
	at     *url.URL
}

func (r *watched) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if n > 0 {
		r.dog.Reset(r.every)
	}
	if err != nil && err != io.EOF {
		err = networkError(r.at, stallCause(r.ctx, err))
	}
	return n, err
}

func (r *watched) Close() error {
	r.dog.Stop()
	r.cancel(nil) // first: a body that still comes is not read to its end
	return r.in.Close()
}

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		var of *url.Error
		errors.As(err, &of)
		return nil, &WebError{URL: "URL", Reason: of.Err.Error(), Failure: FailureOther, Fix: "correct the address"}
	}
	if err := allowed(u); err != nil {
		return nil, &WebError{URL: bare(u), Reason: err.Error(), Failure: FailureOther, Fix: "use an https address"}
	}
	return u, nil
}

// allowed refuses what could be read or changed on the way.
func allowed(u *url.URL) error {
	if u.Host == "" || u.User != nil {
		return errors.New("want https://host/path without user and password")
	}
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u) {
		return nil
	}
	return fmt.Errorf("%s://%s is not https", u.Scheme, u.Host)
}

func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"https": "443", "http": "80"}[u.Scheme]
}

// contentRange reads "bytes 5-9/100"; total is 0 where it is "*".
func contentRange(s string) (from, to, total int64, err error) {
	bad := fmt.Errorf("content range %q: want bytes FROM-TO/TOTAL", printable(s))
	rest, ok := strings.CutPrefix(s, "bytes ")
	span, all, ok2 := strings.Cut(rest, "/")
	first, last, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, 0, bad
	}
	var numbers [3]int64
	for i, text := range []string{first, last, all} {
		if i == 2 && text == "*" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 62)
		if err != nil {
			return 0, 0, 0, bad
		}
		numbers[i] = int64(n)
	}
	if numbers[0] > numbers[1] || all != "*" && numbers[1] >= numbers[2] {
		return 0, 0, 0, bad
	}
	return numbers[0], numbers[1] + 1, numbers[2], nil
}

// strong is an ETag that two equal files share; "" for a weak one.
func strong(etag string) string {
	if strings.HasPrefix(etag, `"`) {
		return etag
	}
	return ""
}
