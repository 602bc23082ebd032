package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"dure/runtime/board"
	"dure/runtime/board/door"
	"dure/runtime/board/load"
	"dure/runtime/board/shell"
)

// shellDoors gives each agent of a measurement its socket, and calls as its shell
// would: a shell that starts `dure sql`.
type shellDoors struct {
	dir string
	mu  sync.Mutex
	all []*door.Door
}

func newShellDoors(dir string) *shellDoors { return &shellDoors{dir: dir} }

func (s *shellDoors) open(g board.Gateway) (load.Caller, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, g.Agent().Name)
	d, err := door.Open(g, door.Config{Path: path, Limits: board.DefaultLimits()})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, d)
	exe, err := os.Executable()
	return shellCaller{exe: exe, socket: path}, err
}

func (s *shellDoors) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, d := range s.all {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// A shellCaller runs a process for each call.
type shellCaller struct{ exe, socket string }

// Do implements load.Caller.
func (c shellCaller) Do(ctx context.Context, s board.Statement) (board.Result, error) {
	args := []string{s.SQL}
	for _, a := range s.Args {
		args = append(args, "--arg", fmt.Sprint(a))
	}
	return c.run(ctx, args)
}

// Claim implements load.Caller.
func (c shellCaller) Claim(ctx context.Context, q board.Claim) (board.Result, error) {
	return c.run(ctx, []string{"--claim", q.Table})
}

func (c shellCaller) run(ctx context.Context, args []string) (board.Result, error) {
	line := append([]string{"-c", `"$0" sql --json "$@"; exit $?`, c.exe}, args...)
	cmd := exec.CommandContext(ctx, "/bin/sh", line...)
	cmd.Env = []string{"DURE_SOCKET=" + c.socket}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return board.Result{}, shellError(exit.ExitCode(), strings.TrimSpace(problems.String()))
	}
	if err != nil {
		return board.Result{}, err
	}
	return door.DecodeResult(out.Bytes())
}

// shellError is what a shell knows of a failure.
func shellError(code int, text string) error {
	reason := errors.New("no board")
	switch code {
	case shell.Failed:
		reason = board.ErrStatement
	case shell.Denied:
		reason = board.ErrDenied
	case shell.Limited:
		reason = board.ErrBusy
	case shell.Duplicate:
		reason = board.ErrDuplicate
	}
	return &board.Refusal{Reason: reason, Detail: text}
}
