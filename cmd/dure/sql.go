package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"dure/runtime/board/shell"
)

func sqlCommand() *cobra.Command {
	opt := shell.Options{Name: "dure sql"}
	cmd := &cobra.Command{
		Use:     "sql [STATEMENT]",
		Short:   "Read and write the shared tables, as an agent of a swarm",
		Long:    shell.Help,
		Example: "  dure sql " + strings.Join(shell.Examples, "\n  dure sql "),
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.MaximumNArgs(1)(cmd, args); err != nil {
				return &exitError{shell.Usage, err}
			}
			return nil
		},
		Run: func(cmd *cobra.Command, args []string) {
			ctx, stop := interruptible(cmd)
			defer stop()
			code := opt.Run(ctx, args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			stop()
			if code != 0 {
				os.Exit(code)
			}
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{shell.Usage, err} })
	opt.Register(cmd.Flags(), os.Getenv("DURE_SOCKET"))
	return cmd
}
