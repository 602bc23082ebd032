package main

import (
	"errors"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"dure/audio/speech"
)

// speechCommand is the child process of the speech engines. The server starts it; it is
// hidden because nothing good comes of starting it by hand.
func speechCommand() *cobra.Command {
	return &cobra.Command{
		Use: "speech", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The libraries' threads compute; Go needs one for them and one to answer.
			runtime.GOMAXPROCS(2)
			if err := speech.Serve(cmd.Context(), os.Stdin, os.Stdout); err != nil {
				os.Exit(1) // the parent has been told, and says it once
			}
			os.Exit(0) // without waiting for the libraries' threads
			return nil
		},
	}
}

// speechEngines are the engines of this machine, in processes of their own.
func speechEngines(home, level string) (*speech.Engines, error) {
	cfg, err := speechConfig(home)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, errors.Join(errors.New("start the speech engines"), err)
	}
	return speech.New(speech.Command{Args: []string{self, "speech"}, Env: os.Environ(), Log: os.Stderr}, cfg, newLogger(os.Stderr, level))
}
