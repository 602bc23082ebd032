package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"dure/runtime/report"
)

func swarmReportCommand(dir *string) *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "report", Short: "Tell what a run did, from its log: a page of HTML, or JSON", Args: cobra.NoArgs,
		Example: "  dure swarm report\n  dure swarm report --json | jq .roles",
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, log, err := atRest(cmd.Context(), *dir)
			if err != nil {
				return err
			}
			r, err := report.Make(cmd.Context(), log)
			if err := errors.Join(err, log.Close()); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			if out == "" {
				out = filepath.Join(folder, "report.html")
			}
			f, err := os.Create(out)
			if err != nil {
				return err
			}
			if err := errors.Join(r.HTML(f), f.Close()); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), out)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the page's file (report.html in the run's folder)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
