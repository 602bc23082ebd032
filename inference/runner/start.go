package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"dure/inference"
)

// closeGrace is how long a child may take to end before it is killed. It is
// longer than the child's own exitGrace.
const closeGrace = exitGrace + 2*time.Second

// Options say how to start a child.
type Options struct {
	// Command is the program and arguments of the child; it must call Serve.
	Command []string
	// Env of the child, as os.Environ gives it.
	Env []string
	// Stderr receives the child's log; its last lines also explain a crash.
	Stderr io.Writer
	Config Config // Socket and Turns are chosen by Start
	// Turns is the child's end of a line to the arbiter of its devices; nil where
	// nobody hands out turns. Start closes it.
	Turns *os.File
	// Progress of the load, 0..1; may be nil.
	Progress func(float32)
	Log      *slog.Logger
}

// Start spawns a child and returns when its model is loaded. Cancelling ctx
// stops the load; afterwards the child lives until Close.
func Start(ctx context.Context, opt Options) (*Client, error) {
	if opt.Turns != nil {
		defer opt.Turns.Close() // the child has its own by then, and leaves by ending
	}
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	opt.Config.Socket = filepath.Join(dir, socketName)
	p, err := spawn(opt)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	c := &Client{process: p, dir: dir, socket: opt.Config.Socket, http: unixClient(opt.Config.Socket)}
	if err := c.awaitReady(ctx, opt.Progress); err != nil {
		c.Close()
		return nil, err
	}
	opt.Log.Info("model loaded", "model", c.info.Name, "pid", p.cmd.Process.Pid, "context", c.info.Context, "sequences", c.info.Sequences)
	return c, nil
}

const (
	socketName = "s"
	maxSocket  = 107 // bytes that the path of a socket may have
)

// socketDir makes a folder for a socket, where temporary files go.
func socketDir() (string, error) {
	failed := func(why any) error {
		return inference.Errorf(inference.CodeLoadFailed,
			"the folder for temporary files, %s, cannot hold the socket of a model's process: %v; make room there, or set TMPDIR to another", os.TempDir(), why)
	}
	dir, err := os.MkdirTemp("", "dure-")
	if err != nil {
		return "", failed(err)
	}
	if n := len(filepath.Join(dir, socketName)); n > maxSocket {
		os.RemoveAll(dir)
		return "", failed(fmt.Sprintf("its path makes the socket's %d bytes long, at most %d are possible", n, maxSocket))
	}
	return dir, nil
}

// unixClient speaks HTTP to a socket. Compression would only cost time here.
func unixClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
		DisableCompression: true, MaxIdleConnsPerHost: 64,
	}}
}

// process is a child and what is known of its end.
type process struct {
	cmd    *exec.Cmd
	life   io.Closer
	status *os.File
	tail   *tail
	dead   chan struct{} // closed when it has ended and been reaped
	err    error         // why, set before dead is closed
}

func spawn(opt Options) (*process, error) {
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	defer statusW.Close()
	cmd := exec.Command(opt.Command[0], opt.Command[1:]...)
	// An engine assertion would start a debugger where one is installed.
	cmd.Env = append(opt.Env, "GGML_NO_BACKTRACE=1")
	cmd.ExtraFiles = []*os.File{statusW} // becomes statusFD
	opt.Config.Turns = opt.Turns != nil
	if opt.Config.Turns {
		cmd.ExtraFiles = append(cmd.ExtraFiles, opt.Turns) // becomes turnFD
	}
	// Own process group: Ctrl-C in the terminal is for the server, which ends
	// its streams in order and then the child.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &process{cmd: cmd, status: statusR, tail: &tail{to: opt.Stderr}, dead: make(chan struct{})}
	cmd.Stderr = p.tail
	life, err := cmd.StdinPipe()
	if err == nil {
		err = start(cmd)
	}
	if err != nil {
		statusR.Close()
		return nil, fmt.Errorf("runner: start %s: %w", opt.Command[0], err)
	}
	p.life = life
	go p.reap()
	line, err := json.Marshal(opt.Config)
	if err == nil {
		_, err = life.Write(append(line, '\n'))
	}
	if err != nil { // it ended before it read
		p.kill()
		return nil, inference.Errorf(inference.CodeLoadFailed, "%s", p.end())
	}
	return p, nil
}

func (p *process) reap() {
	err := p.cmd.Wait()
	if err == nil {
		err = errors.New("it ended by itself")
	}
	p.err = err
	close(p.dead)
}

func (p *process) kill() {
	p.life.Close()
	p.cmd.Process.Kill()
	<-p.dead
	p.status.Close()
}

// end describes the end of a dead process.
func (p *process) end() string {
	msg := fmt.Sprintf("the model's process ended (%v)", p.err)
	if last := p.tail.last(); last != "" {
		msg += ": " + last
	}
	return msg
}

func (p *process) lost() *inference.Error {
	return inference.Errorf(inference.CodeRunnerLost, "%s; the next request starts a new one", p.end())
}

// awaitReady reads status lines until the child is ready or has failed.
func (c *Client) awaitReady(ctx context.Context, progress func(float32)) error {
	stop := context.AfterFunc(ctx, func() { c.process.life.Close() })
	defer stop()
	lines := bufio.NewReader(c.process.status)
	for {
		line, err := lines.ReadBytes('\n')
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // the child closed it by ending
			<-c.process.dead
			return inference.Errorf(inference.CodeLoadFailed, "%s", c.process.end())
		}
		var s status
		if err := json.Unmarshal(line, &s); err != nil {
			return fmt.Errorf("runner: status line %q: %w", line, err)
		}
		switch {
		case s.Error != "":
			return inference.Errorf(inference.CodeLoadFailed, "%s", s.Error)
		case s.Ready != nil:
			c.info, c.embedding, c.notes = *s.Ready, s.Embedding, s.Notes
			return nil
		case progress != nil:
			progress(s.Progress)
		}
	}
}

// tail copies the child's stderr on and remembers its last lines.
type tail struct {
	to io.Writer

	mu  sync.Mutex
	buf []byte
}

const tailBytes = 2048

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > tailBytes {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailBytes:]...)
	}
	t.mu.Unlock()
	if t.to != nil {
		t.to.Write(b) // a broken log must not stop the child
	}
	return len(b), nil
}

// last is the last non-empty line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
