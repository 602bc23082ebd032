// Package git runs the git program for what is not worth writing again: serving
// packs, checking pushed ones, importing, merging with renames. It owns the
// environment that such a process gets, and its end. It knows nothing of what the
// process is for.
//
// A process gets nobody's settings (of the system, the user, or the environment),
// asks nobody for a password, and ends with its context, children and all.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A Program is an installed git.
type Program struct{ path string }

// Found reports whether it is a program: the zero one is none.
func (p Program) Found() bool { return p.path != "" }

// ErrMissing: there is no git, or one that is too old.
var ErrMissing = errors.New("git 2.39 or later is needed; install git")

// Find finds git in the search path, or takes the one that is named.
func Find(ctx context.Context, named string) (Program, error) {
	if named == "" {
		named = "git"
	}
	path, err := exec.LookPath(named)
	if err != nil {
		return Program{}, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	p := Program{path}
	out, err := p.Output(ctx, "/", nil, "version")
	if err != nil {
		return Program{}, err
	}
	var major, minor int
	if _, err := fmt.Sscanf(out, "git version %d.%d", &major, &minor); err != nil || major < 2 || major == 2 && minor < 39 {
		return Program{}, fmt.Errorf("%w: %s is %q", ErrMissing, path, out)
	}
	return p, nil
}

// How long a process that was told to end may still write.
const grace = 2 * time.Second

// Command is a process of git in a folder, not started. Variables of env are added
// to its environment.
func (p Program) Command(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	settings := []string{"-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}
	cmd := exec.CommandContext(ctx, p.path, append(settings, args...)...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + filepath.Dir(p.path) + ":/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
	}, env...)
	// A group of its own: git has children, which must end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	return cmd
}

// Error is a process that failed, with what it said.
type Error struct {
	Args   []string
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("git %s: %v: %s", strings.Join(e.Args[:min(2, len(e.Args))], " "), e.Err, e.Stderr)
}

func (e *Error) Unwrap() error { return e.Err }

// maxStderr bounds what is kept of what a process says.
const maxStderr = 16 << 10

// Output runs a process to its end and returns what it wrote, without the last
// newline.
func (p Program) Output(ctx context.Context, dir string, in io.Reader, args ...string) (string, error) {
	return Run(p.Command(ctx, dir, nil, args...), in, args)
}

// Run runs a command of Command to its end.
func Run(cmd *exec.Cmd, in io.Reader, args []string) (string, error) {
	return run(cmd, in, args, func(int) error { return nil })
}

// RunLast is Run for work that can wait: whoever else wants a processor goes first.
func RunLast(cmd *exec.Cmd, in io.Reader, args []string) (string, error) {
	return run(cmd, in, args, func(pid int) error {
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, pid, 19); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("give way to others: %w", err)
		}
		return nil
	})
}

func run(cmd *exec.Cmd, in io.Reader, args []string, started func(pid int) error) (string, error) {
	var out bytes.Buffer
	said := &Tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, said
	err := cmd.Start()
	if err == nil {
		first := started(cmd.Process.Pid)
		if first != nil {
			_ = cmd.Cancel() // it may have ended meanwhile
		}
		err = errors.Join(first, cmd.Wait())
	}
	if err != nil {
		return "", &Error{Args: args, Stderr: said.String(), Err: err}
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// A Tail keeps the end of what is written to it.
type Tail struct{ b []byte }

func (t *Tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - maxStderr; over > 0 {
		t.b = t.b[over:]
	}
	return len(p), nil
}

func (t *Tail) String() string { return strings.TrimSpace(string(t.b)) }
