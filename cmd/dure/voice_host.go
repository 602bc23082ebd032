package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"dure/inference/front"
)

// voiceHost is the server's side of the voice process: it starts it when a voice is first
// wanted, again when it died, and passes connections on.
type voiceHost struct {
	home, model, level string
	log                *slog.Logger
	proxy              *httputil.ReverseProxy
	serveAPI           func(net.Listener) error

	mu     sync.Mutex // held while the process is started
	folder string
	api    net.Listener
	child  *voiceChild
	closed bool
}

// voiceChild is one process.
type voiceChild struct {
	stdin io.Closer
	gone  chan struct{}
}

// newVoiceHost starts nothing yet. home is DURE_HOME, or "" where nothing is to be
// remembered; serveAPI answers the server's own API at a listener.
func newVoiceHost(home, model, level string, log *slog.Logger, serveAPI func(net.Listener) error) *voiceHost {
	v := &voiceHost{home: home, model: model, level: level, log: log, serveAPI: serveAPI}
	v.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "localhost", "localhost"
		},
		Transport:     &http.Transport{DialContext: v.dial, DisableKeepAlives: true},
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			log.Warn("the voice process does not answer", "error", err)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprintf(w, `{"error":{"type":"server_error","code":"engine_lost","message":"the voice process does not answer; the server's log says why","param":null}}`+"\n")
		},
	}
	return v
}

// surface has the routes that the voice process answers. It checks keys itself, because
// browsers can show them in the name of a subprotocol only. fail is how OpenAI's surface
// writes its errors.
func (v *voiceHost) surface(fail func(*front.Exchange, *front.Failure) any) front.Surface {
	pass := func(x *front.Exchange, r *http.Request) error {
		// A conversation lasts as long as it lasts.
		control := http.NewResponseController(x)
		if err := errors.Join(control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{})); err != nil {
			return err
		}
		v.proxy.ServeHTTP(x, r)
		return nil
	}
	return front.Surface{Fail: fail, Routes: []front.Route{
		voicePageRoute(),
		{Method: "GET", Path: "/v1/realtime", Open: true, Handle: pass, Doc: "a spoken conversation over a WebSocket (OpenAI Realtime; `?duplex=1` for its extension); shows a key as browsers can, too"},
		{Method: "POST", Path: "/v1/realtime/client_secrets", Open: true, Handle: pass, Doc: "with a key, a secret with which a browser opens one conversation"},
		{Method: "GET", Path: "/v1/dure/voice", Admin: true, Doc: "spoken conversations: those that there are, and how well their frames keep time",
			Handle: func(x *front.Exchange, r *http.Request) error {
				report, err := v.report(r.Context())
				if err != nil {
					return err
				}
				return x.JSON(http.StatusOK, report)
			}},
		{Method: "POST", Path: "/v1/audio/speech", Open: true, Handle: pass, Doc: "with a key, a text as speech, sent while it is made"},
		{Method: "POST", Path: "/v1/audio/transcriptions", Open: true, Handle: pass, Doc: "with a key, what is said in a WAV file"},
	}}
}

// voiceUsed is a file below DURE_HOME whose time is that of the last start of the voice
// process.
const voiceUsed = "voice-used"

// expected reports whether voice was used in the last days: then it is made ready while the
// model loads, so that who lost a server in the middle of a sentence need not wait for both.
func (v *voiceHost) expected() bool {
	info, err := os.Stat(filepath.Join(v.home, voiceUsed))
	return v.home != "" && err == nil && time.Since(info.ModTime()) < 3*24*time.Hour
}

// prepare starts the process ahead of its first use.
func (v *voiceHost) prepare(ctx context.Context) {
	if _, err := v.ready(ctx); err != nil && ctx.Err() == nil {
		v.log.Warn("voice is not ready", "error", err)
	}
}

// dial connects to the voice process.
func (v *voiceHost) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	socket, err := v.ready(ctx)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}

// ready gives the socket of a running process.
func (v *voiceHost) ready(ctx context.Context) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return "", errors.New("the server is shutting down")
	}
	if v.folder == "" {
		if err := v.open(); err != nil {
			return "", err
		}
	}
	socket := filepath.Join(v.folder, voiceSocket)
	if v.child != nil {
		select {
		case <-v.child.gone:
		default:
			return socket, nil
		}
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	child, err := v.start(ctx)
	if err != nil {
		return "", fmt.Errorf("start the voice process: %w", err)
	}
	v.child = child
	if v.home != "" {
		_ = os.WriteFile(filepath.Join(v.home, voiceUsed), nil, 0o600) // for expected
	}
	return socket, nil
}

// open makes the folder of the sockets, which only this user can enter, and answers there.
func (v *voiceHost) open() error {
	removeStale(os.TempDir())
	folder, err := os.MkdirTemp("", fmt.Sprintf("dure-voice-%d-", os.Getpid()))
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(folder, apiSocket))
	if err != nil {
		os.RemoveAll(folder)
		return err
	}
	v.folder, v.api = folder, l
	go func() {
		if err := v.serveAPI(l); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			v.log.Error("the API for the voice process ended", "error", err)
		}
	}()
	return nil
}

// removeStale removes what servers left that were killed: the folders name their process.
func removeStale(root string) {
	folders, _ := filepath.Glob(filepath.Join(root, "dure-voice-*-*"))
	for _, folder := range folders {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(folder), "dure-voice-%d-", &pid); err != nil || pid <= 1 {
			continue
		}
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(folder) // another user's stays
		}
	}
}

// start waits until the process listens.
func (v *voiceHost) start(ctx context.Context) (*voiceChild, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "voice-server", "--folder", v.folder, "--model", v.model, "--log-level", v.level)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ready, child := make(chan error, 1), &voiceChild{stdin: stdin, gone: make(chan struct{})}
	go func() {
		_, err := bufio.NewReader(stdout).ReadString('\n')
		ready <- err
		err = cmd.Wait()
		close(child.gone)
		v.log.Info("the voice process ended", "pid", cmd.Process.Pid, "error", err)
	}()
	select {
	case err := <-ready:
		if err != nil {
			<-child.gone
			return nil, errors.New("it ended before it was ready; its message is above")
		}
		return child, nil
	case <-ctx.Done():
		stdin.Close()
		return nil, context.Cause(ctx)
	}
}

// close ends the process and takes the sockets away.
func (v *voiceHost) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	if v.child != nil {
		v.child.stdin.Close()
		<-v.child.gone
	}
	if v.api != nil {
		v.api.Close()
	}
	if v.folder != "" {
		os.RemoveAll(v.folder)
	}
}
