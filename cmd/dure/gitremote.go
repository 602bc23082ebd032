package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"dure/runtime/vcs/bridge"
)

// becomeRemote makes this process git's remote helper, if git started it as one: by
// the name under which it lies in an agent's sandbox, beside the socket. Flags are
// git's then, not ours.
func becomeRemote() {
	if filepath.Base(os.Args[0]) != bridge.Name {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bridge.Run(ctx, bridge.Call{Args: os.Args[1:], Socket: os.Getenv("DURE_SOCKET"), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	stop()
	var told *exec.ExitError
	switch {
	case err == nil:
		os.Exit(0)
	case errors.As(err, &told):
		os.Exit(max(1, told.ExitCode()))
	default:
		fmt.Fprintln(os.Stderr, bridge.Name+": "+err.Error())
		os.Exit(1)
	}
}
