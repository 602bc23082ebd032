// Command dure is a local inference server and the tools around it.
//
// One file per subcommand. This is the only package where concrete types meet:
// it reads environment and flags, decides which engine and model to use, and
// wires the packages of inference together. Everything with logic of its own
// lives in those.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends at once, whatever hangs
	err := newRoot().ExecuteContext(ctx)
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "dure: interrupted")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "dure: "+err.Error())
		code := 1
		var coded *exitError
		if errors.As(err, &coded) {
			code = coded.code
		}
		os.Exit(code)
	}
}

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	error
}

// Unwrap returns the error without the code.
func (e *exitError) Unwrap() error { return e.error }

// interruptible makes Ctrl-C end a command in order. Only the terminal chat does
// without it: there Ctrl-C stops an answer.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	return ctx, stop
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "dure",
		Short: "Run language models on this machine and serve them to any OpenAI client",
		Example: `  dure serve                 serve the default model at http://127.0.0.1:8484/v1
  dure run                   talk to it in the terminal
  dure doctor                see what this machine has and what is missing`,
		SilenceUsage: true, SilenceErrors: true, Version: buildVersion(),
	}
	root.AddCommand(
		serveCommand(), runCommand(), listCommand(), pullCommand(), psCommand(), loadCommand(), unloadCommand(), keyCommand(), showCommand(), planCommand(), rmCommand(), verifyCommand(),
		doctorCommand(), engineCommand(), benchCommand(), versionCommand(), serviceCommand(), runnerCommand(), sqlCommand(), swarmCommand(), voiceCommand(), speechCommand(), voiceServerCommand(), talkCommand(),
	)
	return root
}
