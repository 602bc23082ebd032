package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"dure/runtime/sandbox"
)

// Bounds of what a server writes, in bytes.
const (
	maxMessage = 4 << 20  // one message
	maxBetween = 16 << 20 // all messages from one call to the next
	maxStderr  = 2 << 10  // what is kept of its standard error: the last
)

// run is one life of a server's process.
type run struct {
	name    string
	process *sandbox.Process
	kill    context.CancelFunc
	session *sdk.ClientSession // nil until it has named its tools
	in      *io.PipeWriter
	out     *io.PipeReader
	stderr  *tail
	allowed *atomic.Int64 // bytes that it may still write until the next call
	done    chan struct{} // closed when the process is gone
	result  sandbox.Result
	err     error
}

// begin starts the process. It lives until end, whatever becomes of ctx.
func begin(ctx context.Context, box Box, conf Config) (*run, error) {
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	r := &run{name: conf.Name, in: in, out: out, stderr: &tail{}, allowed: new(atomic.Int64), done: make(chan struct{})}
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	r.kill = kill
	p, err := box.Begin(life, sandbox.Cmd{Args: conf.Args, Env: conf.Env, Dir: conf.Dir,
		Stdin: theirIn, Stdout: &metered{theirOut, r.allowed}, Stderr: r.stderr, OutputCap: -1})
	if err != nil {
		kill()
		return nil, err
	}
	r.process = p
	go func() {
		r.result, r.err = p.Wait()
		// Whoever reads or writes is told; the pipes have nobody at the other end.
		_ = theirIn.CloseWithError(io.ErrClosedPipe)
		_ = theirOut.CloseWithError(io.EOF)
		close(r.done)
	}()
	return r, nil
}

// connect shakes hands. The client offers nothing that a server could ask for.
func (r *run) connect(ctx context.Context, log *slog.Logger) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "dure", Version: "1"}, &sdk.ClientOptions{
		Logger: log, Capabilities: &sdk.ClientCapabilities{}, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	})
	return client.Connect(ctx, &sdk.IOTransport{Reader: r.out, Writer: r.in, MaxLineLength: maxMessage}, nil)
}

// ask asks the server, and returns when it has answered, when the process is gone or when
// ctx is over; then do may still be waiting for what end brings about.
func ask[T any](ctx context.Context, r *run, do func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	r.allowed.Store(maxBetween)
	done := make(chan answer, 1)
	go func() {
		v, err := do(ctx)
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// over reports whether the process is gone.
func (r *run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// end ends the process and returns when it is gone.
func (r *run) end() {
	r.kill()
	_ = r.out.CloseWithError(io.EOF) // a process that writes is not waited for
	<-r.done
	if r.session != nil {
		_ = r.session.Close() // the process is gone
	}
}

// explain adds to an error what is known of the process: how it ended, and its last words.
func (r *run) explain(err error) error {
	var said []string
	if r.allowed.Load() < 0 {
		said = append(said, fmt.Sprintf("it wrote more than %d bytes for one call", maxBetween))
	}
	if r.over() {
		switch e := r.result; {
		case r.err != nil:
			said = append(said, r.err.Error())
		case e.Ended == sandbox.EndedCancelled: // this package's doing
		case e.Signal != 0:
			said = append(said, fmt.Sprintf("it was ended by %s (%v)", e.Ended, e.Signal))
		default:
			said = append(said, fmt.Sprintf("exit status %d", e.Code))
		}
	}
	if words := r.stderr.String(); words != "" {
		said = append(said, fmt.Sprintf("its last words were %q", words))
	}
	if len(said) == 0 {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(said, "; "))
}

// metered takes no more than is allowed.
type metered struct {
	to      *io.PipeWriter
	allowed *atomic.Int64
}

var errTooMuch = errors.New("the server writes too much")

func (m *metered) Write(p []byte) (int, error) {
	if m.allowed.Add(-int64(len(p))) < 0 {
		_ = m.to.CloseWithError(errTooMuch) // whoever reads has to know
		return 0, errTooMuch
	}
	return m.to.Write(p)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if n := len(t.last) - maxStderr; n > 0 {
		t.last = append([]byte{}, t.last[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.last), "\uFFFD"))
}
