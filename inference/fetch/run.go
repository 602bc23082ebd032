package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program to run to its end.
type Process struct {
	Path string   // the program
	Args []string // without the program's name
	Dir  string   // working folder; empty for ours
	Env  []string // added to our environment
	// Output receives what it prints, both streams in one; nil drops it. It is
	// written by one goroutine at a time.
	Output io.Writer
}

// String is the command line for messages.
func (p Process) String() string { return strings.Join(append([]string{p.Path}, p.Args...), " ") }

// waitAfterKill is how long to wait for the output pipe of a killed process:
// a grandchild that left the process group could hold it open for ever.
const waitAfterKill = 2 * time.Second

// Run runs a program in its own process group. When ctx ends, the whole group
// is killed and the error is ctx's cause; when this process dies, the kernel
// kills the program. Any other failure is an *exec.Error or *exec.ExitError.
func Run(ctx context.Context, p Process) error {
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Dir = p.Dir
	cmd.Env = append(cmd.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = p.Output, p.Output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = waitAfterKill

	done := make(chan error)
	go func() {
		// The death signal is sent when the thread that started the program
		// ends, so that thread has to stay for as long as the program runs.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- cmd.Run()
	}()
	err := <-done
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		// It ended well; only a helper it left behind still held the pipe.
		return nil
	}
	return err
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
	cut  bool
}

// tailBytes is what an error message can show of a client's output.
const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if extra := len(t.data) - tailBytes; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return fmt.Sprintf("[the last %d bytes]\n%s", tailBytes, t.data)
	}
	return string(t.data)
}
