package main

import (
	"log/slog"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"dure/inference/runner"
)

// runnerCommand is the child process of a loaded model. The server starts it;
// it is hidden because nothing good comes of starting it by hand.
func runnerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "runner", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The engine's threads compute; what is left for Go is short. The owner
			// takes one P into the engine with it, the other is for those who bring
			// requests and take answers. More would make the runtime wake more
			// threads, which take the cores from the engine's.
			runtime.GOMAXPROCS(2)
			err := runner.Serve(cmd.Context(), os.Stdin, os.NewFile(3, "status"),
				func(level string) *slog.Logger { return newLogger(os.Stderr, level) })
			if err != nil {
				os.Exit(1) // the parent has been told, and says it once
			}
			return nil
		},
	}
}
