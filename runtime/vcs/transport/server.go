package transport

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"dure/runtime/vcs"
	"dure/runtime/vcs/git"
)

// Options of a server. Zero fields get the defaults.
type Options struct {
	// Log hears of what failed on this side. Default: nothing is logged.
	Log *slog.Logger
	// Processes is how many processes of git run at once; further requests wait. Default 8.
	Processes int
	// Timeout ends a request. Default 10 minutes.
	Timeout time.Duration
	// MaxPush bounds the bytes of a pushed pack. Default 1 GiB.
	MaxPush int64
	// MaxMemory bounds the memory of the process that checks a push. Default 1 GiB.
	MaxMemory uint64
}

// grace is how long an answer that says that time is over may take.
const grace = 5 * time.Second

// maxAsk bounds the bytes of a request to fetch: names of what is wanted and had.
const maxAsk = 64 << 20

// A Server answers git for one repository.
type Server struct {
	repo  *vcs.Repository
	git   git.Program
	opt   Options
	turns chan struct{}
}

// New is a server of a repository.
func New(repo *vcs.Repository, program git.Program, opt Options) *Server {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Processes == 0 {
		opt.Processes = 8
	}
	if opt.Timeout == 0 {
		opt.Timeout = 10 * time.Minute
	}
	if opt.MaxPush == 0 {
		opt.MaxPush = 1 << 30
	}
	if opt.MaxMemory == 0 {
		opt.MaxMemory = 1 << 30
	}
	return &Server{repo, program, opt, make(chan struct{}, opt.Processes)}
}

// Handler answers who is known to be this actor: anybody fetches, an agent pushes to
// its branch. The zero Actor may fetch only. Paths are from the root; behind
// http.StripPrefix they are where the caller wants them.
func (s *Server) Handler(who vcs.Actor) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info/refs", s.timed(func(w *tracking, r *http.Request) error {
		switch service := r.URL.Query().Get("service"); service {
		case "git-upload-pack":
			return s.advertiseFetch(w, r)
		case "git-receive-pack":
			return s.advertisePush(w, who)
		default:
			return &statusError{http.StatusForbidden, "only git's smart protocol is served; use a current git"}
		}
	}))
	mux.HandleFunc("POST /git-upload-pack", s.timed(s.fetch))
	mux.HandleFunc("POST /git-receive-pack", s.timed(func(w *tracking, r *http.Request) error {
		return s.push(w, r, who)
	}))
	return mux
}

// statusError is an answer instead of what was asked for.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

func (s *Server) timed(serve func(*tracking, *http.Request) error) http.HandlerFunc {
	return func(plain http.ResponseWriter, r *http.Request) {
		// A server that also answers short calls has short limits of its own.
		ends, limits := time.Now().Add(s.opt.Timeout+grace), http.NewResponseController(plain)
		if err := errors.Join(limits.SetReadDeadline(ends), limits.SetWriteDeadline(ends)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			s.opt.Log.Warn("git request keeps the time limits of its server", "path", r.URL.Path, "error", err)
		}
		w := &tracking{ResponseWriter: plain}
		ctx, cancel := context.WithTimeout(r.Context(), s.opt.Timeout)
		defer cancel()
		err := serve(w, r.WithContext(ctx))
		var status *statusError
		switch {
		case err == nil:
		case w.begun:
			s.opt.Log.Warn("git request failed", "path", r.URL.Path, "error", err)
			panic(http.ErrAbortHandler) // cutting the answer off is what tells the client
		case errors.As(err, &status):
			http.Error(w, status.text, status.status)
		default:
			s.opt.Log.Warn("git request failed", "path", r.URL.Path, "error", err)
			http.Error(w, "the repository cannot answer now", http.StatusInternalServerError)
		}
	}
}

// tracking knows whether an answer has begun.
type tracking struct {
	http.ResponseWriter
	begun bool
}

func (t *tracking) Write(p []byte) (int, error) {
	t.begun = true
	n, err := t.ResponseWriter.Write(p)
	if f, ok := t.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
	return n, err
}

// turn waits until one more process may run.
func (s *Server) turn(ctx context.Context) (leave func(), err error) {
	select {
	case s.turns <- struct{}{}:
		return func() { <-s.turns }, nil
	case <-ctx.Done():
		return nil, &statusError{http.StatusServiceUnavailable, "too many git requests at once; try again"}
	}
}

// body is what a client sends, inflated, up to a limit.
func body(w http.ResponseWriter, r *http.Request, limit int64) (io.Reader, error) {
	in := io.Reader(http.MaxBytesReader(w, r.Body, limit))
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "":
		return in, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, &statusError{http.StatusBadRequest, "the body is not gzip"}
		}
		// A short body can inflate to any length.
		return &limited{z, limit}, nil
	default:
		return nil, &statusError{http.StatusUnsupportedMediaType, fmt.Sprintf("encoding %q is not known", encoding)}
	}
}

// limited fails where io.LimitReader would end as if that were all.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, &statusError{http.StatusRequestEntityTooLarge, "the request is too long"}
	}
	return n, err
}

func wantType(r *http.Request, service string) error {
	if got, want := r.Header.Get("Content-Type"), "application/x-"+service+"-request"; got != want {
		return &statusError{http.StatusUnsupportedMediaType, fmt.Sprintf("content type %q, want %s", got, want)}
	}
	return nil
}

func header(w http.ResponseWriter, what string) {
	w.Header().Set("Content-Type", "application/x-"+what)
	w.Header().Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
}

// version is the protocol that a client asks for. Anything but 2 is served as 0.
func version(r *http.Request) string {
	for part := range strings.SplitSeq(r.Header.Get("Git-Protocol"), ":") {
		if part == "version=2" {
			return part
		}
	}
	return "version=0"
}
