package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// WebError says that a web server did not give what was asked for.
type WebError struct {
	URL     string // without query, which can hold a signature, and user
	Status  int    // of HTTP; 0 where there was no answer
	Reason  string // what the server or the network said
	Failure Failure
	Fix     string // may be empty
	Err     error  // may be nil
	// retry: asking again may help; after is how long the server wants to be
	// left alone.
	retry bool
	after time.Duration
	// noHost: the name of the server is not known here.
	noHost bool
	// noWay: no connection to the server, or to the proxy, can be made from here.
	noWay bool
	// once: it is worth only one more try.
	once bool
}

func (e *WebError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", e.URL)
	if e.Status != 0 {
		fmt.Fprintf(&b, "HTTP %d %s", e.Status, http.StatusText(e.Status))
		if e.Reason != "" {
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Reason)
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}

func (e *WebError) Unwrap() error { return e.Err }

// SizeError says that a file on a server has not the size that was pinned.
type SizeError struct {
	URL       string
	Want, Got int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, the pinned file has %d: the server has another file", e.URL, e.Got, e.Want)
}

var (
	// errStalled ends a connection on which nothing came for too long.
	errStalled = errors.New("nothing came for too long")
	// errChanged says that the file on the server is not the one that was begun.
	errChanged = errors.New("the file on the server has changed")
)

// bare is a URL that may be shown.
func bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// networkError wraps what a request or the reading of its body ended with.
func networkError(u *url.URL, err error) *WebError {
	var known *WebError
	if errors.As(err, &known) {
		return known
	}
	e := &WebError{URL: bare(u), Reason: err.Error(), Failure: FailureNetwork, Err: err, retry: true,
		Fix: "check the network and the proxy settings"}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e.Reason = "the connection ended in the middle"
	}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		e.noHost = true
		e.Fix = "there is no host of this name here: check the network, or set the address of a mirror"
	}
	e.noConnection(err)
	return e
}

// noConnection sees whether the connection was refused, or found no way.
func (e *WebError) noConnection(err error) {
	var op *net.OpError
	refused := errors.Is(err, unix.ECONNREFUSED)
	if e.noWay = refused || errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH); !e.noWay {
		return
	}
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		e.Fix = "the proxy cannot be reached: check the proxy settings"
	case refused:
		e.Fix = "no server listens there: check the address, and that the server runs"
	default:
		e.Fix = "there is no way to it from here: check the network and the proxy settings"
	}
}

// firstContact is for errors before any byte has come, when nothing has begun
// that would be worth waiting for: an unknown host is an error at once, and one
// that cannot be reached after a second try.
func firstContact(err error) error {
	var web *WebError
	if errors.As(err, &web) {
		web.retry = web.retry && !web.noHost
		web.once = web.noWay
	}
	return err
}

// statusError reads an answer that is no file and closes it.
func statusError(u *url.URL, resp *http.Response, now time.Time) *WebError {
	defer resp.Body.Close()
	e := &WebError{URL: bare(u), Status: resp.StatusCode, Failure: FailureOther, Reason: printable(resp.Header.Get("X-Error-Message"))}
	code := resp.Header.Get("X-Error-Code")
	switch {
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout, resp.StatusCode >= 500:
		e.Failure, e.retry, e.after = FailureNetwork, true, retryAfter(resp.Header.Get("Retry-After"), now)
		if e.after > longestWait {
			e.retry = false
			e.Fix = fmt.Sprintf("the server asks to come back in %s; what is here stays", e.after.Round(time.Second))
		}
	case code == "GatedRepo":
		e.Fix = "its makers give it only to those who accepted its terms: do so on the model's page, then set HF_TOKEN to a token of yours"
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		e.Fix = "the server wants a token that may read this: set HF_TOKEN for a model hub, and check the repository's name"
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusGone:
		e.Failure, e.Fix = FailureNotFound, "check repository, revision and file name"
	}
	return e
}

// printable keeps a server's words from moving the cursor.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return s[:min(len(s), 300)]
}

// longestWait is as long as a server may make a pull sleep.
const longestWait = 10 * time.Minute

// retryAfter reads seconds or a date; what it cannot read is no wish.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(s, 10, 32); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// backoff is how long to wait before attempt n, from 1: it doubles up to half a
// minute, and is spread so that ranges do not come back all at once.
func backoff(n int, wish time.Duration) time.Duration {
	base := min(time.Second<<min(n-1, 10), 30*time.Second)
	return wish + base/2 + rand.N(base)
}

// retryable reports whether asking again may help, and the server's wish.
func retryable(err error) (time.Duration, bool) {
	var web *WebError
	if errors.As(err, &web) && web.retry {
		return web.after, true
	}
	return 0, false
}

// tries is how often to ask where each answer is like err.
func (w Web) tries(err error) int {
	var web *WebError
	if errors.As(err, &web) && web.once {
		return min(2, w.attempts())
	}
	return w.attempts()
}

// again calls do until it succeeds, fails for good, or failed too often without
// any progress, and returns the last error. One lost connection is nothing to
// talk about; what goes on longer is logged.
func (f *Fetcher) again(ctx context.Context, file string, do func() (progress bool, err error)) error {
	for tries := 1; ; tries++ {
		progress, err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wish, ok := retryable(err)
		if !ok {
			return err
		}
		if progress {
			tries = 1
		}
		if tries >= f.Web.tries(err) {
			return fmt.Errorf("gave up after %d attempts: %w", tries, err)
		}
		pause := backoff(tries, wish)
		if tries > 1 || wish > 0 {
			f.log().Warn("waiting before asking the server again", "path", file, "ms", pause.Milliseconds(), "error", err)
		}
		if err := f.Web.wait(ctx, pause); err != nil {
			return err
		}
	}
}
