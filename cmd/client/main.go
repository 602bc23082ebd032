// Command client is all that an agent's box has of dure: the commands sql and
// git-remote-dure, by the name under which the program is called. It is a program of its
// own, and knows nothing but how to talk to the agent's socket, so that nothing of the
// harness lies where agents can read or run it. `make build` builds it into dure, which
// puts it into boxes.
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

	"github.com/spf13/pflag"

	"dure/runtime/board/shell"
	"dure/runtime/vcs/bridge"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	switch name := filepath.Base(os.Args[0]); name {
	case shell.Name:
		return sql(ctx)
	case bridge.Name:
		return remote(ctx)
	default:
		fmt.Fprintf(os.Stderr, "%s: call this program as %s or %s\n", name, shell.Name, bridge.Name)
		return shell.Usage
	}
}

func sql(ctx context.Context) int {
	o := shell.Options{Name: shell.Name}
	f := pflag.NewFlagSet(shell.Name, pflag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(os.Stderr, "%s\n\n", shell.Help)
		for _, e := range shell.Examples {
			fmt.Fprintf(os.Stderr, "  %s %s\n", shell.Name, e)
		}
		fmt.Fprintf(os.Stderr, "\n%s", f.FlagUsages())
	}
	o.Register(f, os.Getenv("DURE_SOCKET"))
	err := f.Parse(os.Args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err == nil && f.NArg() > 1:
		err = fmt.Errorf("one statement, in quotes; there are %d arguments", f.NArg())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", shell.Name, err)
		return shell.Usage
	}
	return o.Run(ctx, f.Args(), os.Stdin, os.Stdout, os.Stderr)
}

// remote is git's remote helper. Flags are git's, not ours.
func remote(ctx context.Context) int {
	err := bridge.Run(ctx, bridge.Call{Args: os.Args[1:], Socket: os.Getenv("DURE_SOCKET"), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	var told *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &told):
		return max(1, told.ExitCode())
	}
	fmt.Fprintln(os.Stderr, bridge.Name+": "+err.Error())
	return 1
}
