package speech

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrLost says that a child ended while it was needed.
var ErrLost = errors.New("the speech process ended")

// Command says how to start a child.
type Command struct {
	// Args are the program and its arguments; it must call Serve on its standard input
	// and output.
	Args []string
	Env  []string  // as os.Environ gives it
	Log  io.Writer // receives the child's standard error; nil drops it
}

// Child is a running child.
type Child struct {
	info Info
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *writer
	tail *tail
	dead chan struct{} // closed when it has ended and been reaped

	mu      sync.Mutex // guards what follows
	err     error      // why it is of no use any more
	next    uint32
	streams map[uint32]*Stream
}

// Start spawns a child and returns when its engines are loaded. Ending ctx stops the
// load; afterwards the child lives until Close.
func Start(ctx context.Context, c Command, cfg Config) (*Child, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	line, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env = c.Env
	// Own process group: Ctrl-C in the terminal is for the server, which ends its
	// children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = closeGrace // a child's child may hold its standard error
	ch := &Child{cmd: cmd, tail: &tail{to: c.Log}, dead: make(chan struct{}), streams: map[uint32]*Stream{}}
	cmd.Stderr = ch.tail
	if ch.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("speech: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("speech: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("speech: start %s: %w", c.Args[0], err)
	}
	ch.out = &writer{w: ch.in}
	ready := make(chan error, 1)
	go ch.read(bufio.NewReaderSize(out, 64<<10), ready)
	if _, err := ch.in.Write(append(line, '\n')); err != nil {
		ch.Close()
		return nil, ch.lost()
	}
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		ch.Close()
		return nil, err
	}
	return ch, nil
}

// Info says what the child has.
func (c *Child) Info() Info { return c.info }

// PID is the child's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Dead is closed when the child has ended.
func (c *Child) Dead() <-chan struct{} { return c.dead }

// closeGrace is how long a child may take to end in order.
const closeGrace = 2 * time.Second

// Close ends the child and its streams and waits until it is gone.
func (c *Child) Close() {
	c.in.Close()
	select {
	case <-c.dead:
	case <-time.After(closeGrace):
		_ = c.cmd.Process.Kill() // it may have ended meanwhile
		<-c.dead
	}
}

// read is the goroutine that owns the child's output, and its end.
func (c *Child) read(r io.Reader, ready chan<- error) {
	var buf []byte
	var f frame
	var err error
	for {
		if f, buf, err = readFrame(r, buf); err != nil {
			break
		}
		if f.stream != 0 {
			c.deliver(f)
			continue
		}
		switch f.kind {
		case kReady:
			if err = json.Unmarshal(f.body, &c.info); err == nil {
				ready <- nil
				continue
			}
		case kError:
			var why failure
			_ = json.Unmarshal(f.body, &why) // then it has no message
			err = errors.New(why.Message)
		}
		break
	}
	if !errors.Is(err, io.EOF) { // it does not speak the protocol, or said why it cannot go on
		_ = c.cmd.Process.Kill() // it may have ended by itself
	}
	waited := c.cmd.Wait()
	c.mu.Lock()
	c.err = fmt.Errorf("%w: %w", ErrLost, explain(err, waited, c.tail.last())) // better than what a write met
	for _, s := range c.streams {
		s.end(c.err)
	}
	c.streams = nil
	c.mu.Unlock()
	close(c.dead)
	select {
	case ready <- c.err:
	default: // it was ready before
	}
}

// explain says in one error how a child ended.
func explain(read, waited error, lastWords string) error {
	switch {
	case read != nil && !errors.Is(read, io.EOF):
		return read
	case lastWords != "" && waited != nil:
		return fmt.Errorf("%w: %s", waited, lastWords)
	case waited != nil:
		return waited
	}
	return errors.New("by itself")
}

func (c *Child) lost() error {
	<-c.dead
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// deliver gives a frame to its stream; frames for one that is over are dropped.
func (c *Child) deliver(f frame) {
	c.mu.Lock()
	s := c.streams[f.stream]
	c.mu.Unlock()
	if s != nil {
		s.take(f)
	}
}

// open begins a stream.
func (c *Child) open(o opening) (*Stream, error) {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	c.next++
	s := newStream(c, c.next)
	c.streams[s.id] = s
	c.mu.Unlock()
	if err := c.out.json(s.id, kOpen, o); err != nil {
		c.forget(s.id)
		return nil, c.broken(err)
	}
	return s, nil
}

// broken is the error for a write that failed: how the child ended, where that is known.
// A child that takes no more is of no use even if it has not ended yet.
func (c *Child) broken(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	return c.err
}

// usable reports whether streams can be opened.
func (c *Child) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil
}

func (c *Child) forget(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, id)
}

// tail passes text on and keeps its last line.
type tail struct {
	mu   sync.Mutex
	to   io.Writer
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-most):]
	if t.to != nil {
		_, _ = t.to.Write(p) // a log that cannot be written must not stop the child
	}
	return len(p), nil
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return lines[len(lines)-1]
}
