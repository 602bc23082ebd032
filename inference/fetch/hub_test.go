package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// hub is a web server with one file, /file. A test can change the file and take
// requests over.
type hub struct {
	*httptest.Server
	mu       sync.Mutex
	data     []byte
	etag     string
	asked    []string // the Range headers of all requests
	tokens   []string
	served   int64 // bytes of bodies
	noRanges bool
	// over may answer request n (from 1) instead; it reports whether it did.
	over func(n int, w http.ResponseWriter, r *http.Request) bool
}

func newHub(t *testing.T, data []byte) *hub {
	t.Helper()
	h := &hub{data: data, etag: `"one"`}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.asked = append(h.asked, r.Header.Get("Range"))
	h.tokens = append(h.tokens, r.Header.Get("Authorization"))
	n, over := len(h.asked), h.over
	h.mu.Unlock()
	if over != nil && over(n, w, r) {
		return
	}
	h.serve(w, r)
}

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	data, etag, noRanges := h.data, h.etag, h.noRanges
	h.mu.Unlock()
	w.Header().Set("ETag", etag)
	if noRanges {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		h.count(len(data))
		_, _ = w.Write(data)
		return
	}
	http.ServeContent(counted{w, h}, r, "", time.Time{}, bytes.NewReader(data))
}

func (h *hub) count(n int) {
	h.mu.Lock()
	h.served += int64(n)
	h.mu.Unlock()
}

// bytes is how much of bodies was served.
func (h *hub) bytes() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.served
}

type counted struct {
	http.ResponseWriter
	h *hub
}

func (c counted) Write(p []byte) (int, error) {
	c.h.count(len(p)) // before: a test looks as soon as it has the bytes
	return c.ResponseWriter.Write(p)
}

// set changes the file.
func (h *hub) set(data []byte, etag string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.data, h.etag = data, etag
}

func (h *hub) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.asked...)
}

func (h *hub) link() Link { return linkTo(h.URL, h.data) }

func linkTo(url string, data []byte) Link {
	return Link{File: "m.gguf", URL: url + "/file", Bytes: int64(len(data)), Hash: sha256Of(data)}
}

// cut serves the beginning of what was asked for and drops the connection.
func (h *hub) cut(w http.ResponseWriter, r *http.Request, bytes int64) {
	h.serve(&shortened{ResponseWriter: w, left: bytes}, r)
}

type shortened struct {
	http.ResponseWriter
	left int64
}

func (s *shortened) Write(p []byte) (int, error) {
	n := min(int64(len(p)), s.left)
	_, _ = s.ResponseWriter.Write(p[:n])
	if s.left -= n; s.left == 0 {
		s.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return len(p), nil
}

func (s *shortened) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{s}, r)
}

func randomBytes(n int) []byte {
	data := make([]byte, n)
	src := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range data {
		data[i] = byte(src.Uint32())
	}
	return data
}

// quick never sleeps, and notes how long it was to.
type waits struct {
	mu  sync.Mutex
	all []time.Duration
}

func (w *waits) wait(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
	return ctx.Err()
}

func (w *waits) web() Web {
	return Web{Segment: 64 << 10, Connections: 3, Wait: w.wait, Stall: time.Minute}
}

// pull probes and downloads.
func pull(f *Fetcher, l Link) (string, error) {
	r, err := f.Probe(ctx, l)
	if err != nil {
		return "", err
	}
	return f.Download(ctx, l, r)
}

func says(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want %q in it", err, part)
		}
	}
}
