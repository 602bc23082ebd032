package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"dure/runtime/sandbox/prepare"
)

func swarmPrepareCommand() *cobra.Command {
	var cache string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prepare [REPO]",
		Short: "Fetch what a repository depends on, so that its tests run without a network",
		Long: `Agents have no network. This is the one step that has: it runs the package clients of
this machine (go, npm, pip, cargo) as you, for what the repository's own files name, and
runs no code of any package. Sandboxes then read the caches. Run it again when the
dependencies change; what is there is not fetched again.`,
		Example: "  dure swarm prepare\n  dure swarm prepare ~/src/project --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			repo := "."
			if len(args) == 1 {
				repo = args[0]
			}
			repo, err := filepath.Abs(repo)
			if err != nil {
				return err
			}
			if cache == "" {
				home, err := homeDir()
				if err != nil {
					return err
				}
				cache = filepath.Join(home, "swarm", "cache")
			}
			if err := os.MkdirAll(cache, 0o700); err != nil {
				return err
			}
			r, err := prepare.Fill(ctx, repo, prepare.Options{Cache: cache, Env: os.Environ(), Output: cmd.ErrOrStderr()})
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			for _, line := range r.Done {
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			for _, line := range r.Skipped {
				fmt.Fprintln(cmd.OutOrStdout(), "SKIPPED", line)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&cache, "cache", "", "folder of the caches (DURE_HOME/swarm/cache)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what a sandbox needs to use them, as JSON")
	return cmd
}
