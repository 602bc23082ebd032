package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"sync"
	"syscall"
	"time"

	"dure/runtime/sandbox/cell"
)

// Run runs a command to its end. An error says that it did not run, or that the box
// went away; however a command that ran ended is in the Result. When ctx is done, the
// command is ended and Run returns once it is.
func (b *Box) Run(ctx context.Context, c Cmd) (Result, error) {
	p, err := b.Begin(ctx, c)
	if err != nil {
		return Result{}, err
	}
	return p.Wait()
}

// Process is a command that runs.
type Process struct {
	box     *Box
	job     *running
	ctx     context.Context // of Begin: until the command ends, Wait watches it
	timeout time.Duration
	begin   time.Time
	streams []*stream
	stdin   *os.File
}

// Begin starts a command and returns as soon as it runs. Wait must be called.
func (b *Box) Begin(ctx context.Context, c Cmd) (*Process, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("sandbox: a command without a name")
	}
	p := &Process{box: b, ctx: ctx, timeout: c.Timeout, job: &running{started: make(chan error, 2), exited: make(chan finish, 2)}}
	theirs, err := p.open(ctx, c)
	defer closeFiles(theirs)
	if err != nil {
		p.abandon()
		return nil, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	p.begin = time.Now()
	if err := p.start(b.start(c), theirs); err != nil {
		p.abandon()
		return nil, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	for _, s := range p.streams {
		go s.copy()
	}
	if p.stdin != nil {
		go feed(p.stdin, c.Stdin)
	}
	return p, nil
}

func (b *Box) start(c Cmd) cell.Start {
	dir := b.Workspace()
	if path.IsAbs(c.Dir) {
		dir = c.Dir
	} else if c.Dir != "" {
		dir = path.Join(dir, c.Dir)
	}
	env := append(append([]string{}, b.env...), c.Env...)
	return cell.Start{Args: c.Args, Env: lastWins(env), Dir: dir}
}

// lastWins keeps the last value of every variable.
func lastWins(env []string) []string {
	at := map[string]int{}
	var all []string
	for _, e := range env {
		k := e
		for i := range e {
			if e[i] == '=' {
				k = e[:i]
				break
			}
		}
		if i, ok := at[k]; ok {
			all[i] = e
			continue
		}
		at[k] = len(all)
		all = append(all, e)
	}
	return all
}

// start hands the command to the owner of the box.
func (p *Process) start(s cell.Start, theirs []*os.File) error {
	select {
	case p.box.calls <- startCall{start: s, files: theirs, job: p.job}:
		return <-p.job.started
	case <-p.box.done:
		return ErrClosed
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// open makes the streams: what the command gets, in order.
func (p *Process) open(ctx context.Context, c Cmd) (theirs []*os.File, err error) {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, null)
	if c.Stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		p.stdin = w
		closeFiles(theirs)
		theirs = []*os.File{r}
	}
	var turn sync.Mutex
	for _, w := range []io.Writer{c.Stdout, c.Stderr} {
		r, theirEnd, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		theirs = append(theirs, theirEnd)
		if w == nil {
			w = io.Discard
		}
		limit := c.OutputCap
		if limit == 0 {
			limit = DefaultOutputCap
		}
		p.streams = append(p.streams, &stream{from: r, to: w, limit: limit, turn: &turn, end: make(chan struct{})})
	}
	if p.box.plan.Mode != cell.Full && p.box.plan.Socket != nil {
		conn, err := dial(ctx, p.box.plan.Socket.From)
		if err != nil {
			return theirs, err
		}
		theirs = append(theirs, conn)
	}
	return theirs, nil
}

// dial connects to the agent's socket for a command that cannot do so itself.
func dial(ctx context.Context, path string) (*os.File, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*net.UnixConn).File()
}

// Signal sends a signal to the command's own group of processes.
func (p *Process) Signal(s syscall.Signal) {
	select {
	case p.box.calls <- signalCall{p.job, s}:
	case <-p.box.done:
	}
}

// Wait returns when the command has ended, with all that it wrote passed on.
func (p *Process) Wait() (Result, error) {
	var timeout <-chan time.Time
	if p.timeout > 0 {
		t := time.NewTimer(p.timeout)
		defer t.Stop()
		timeout = t.C
	}
	cancelled := p.ctx.Done()
	var f finish
	for waiting := true; waiting; {
		var why Ended
		select {
		case f = <-p.job.exited:
			waiting = false
			continue
		case <-cancelled:
			cancelled, why = nil, EndedCancelled
		case <-timeout:
			timeout, why = nil, EndedTimeout
		}
		select {
		case p.box.calls <- killCall{p.job, why}:
		case <-p.box.done:
		}
	}
	return p.result(f)
}

func (p *Process) result(f finish) (Result, error) {
	r := Result{Wall: time.Since(p.begin)}
	for _, s := range p.streams {
		s.finish()
	}
	if p.stdin != nil {
		_ = p.stdin.Close() // the command is gone
	}
	for i, s := range p.streams {
		*[]*int64{&r.Stdout, &r.Stderr}[i] = s.total
		r.Dropped += s.total - s.passed
		if s.err != nil && f.err == nil {
			f.err = fmt.Errorf("pass on what a command wrote: %w", s.err)
		}
	}
	e := f.exited
	r.Code, r.Signal, r.CPU, r.Memory, r.Strays, r.OutOfMemory = e.Code, syscall.Signal(e.Signal), e.CPU, e.Memory, e.Strays > 0, f.kills
	switch {
	case f.why != "":
		r.Ended = f.why
	case e.Runaway:
		r.Ended = EndedRunaway
	case r.Signal == syscall.SIGKILL && f.kills > 0:
		r.Ended = EndedMemory
	case r.Signal == syscall.SIGXFSZ:
		r.Ended = EndedDisk
	case r.Signal != 0:
		r.Ended = EndedBySignal
	default:
		r.Ended = EndedItself
	}
	return r, f.err
}

// abandon closes what was opened for a command that did not start.
func (p *Process) abandon() {
	for _, s := range p.streams {
		_ = s.from.Close() // nothing was written
	}
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // the helper has its own
	}
}
