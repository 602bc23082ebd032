package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dure/inference/catalog"
	"dure/inference/fetch"
)

func pullCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "pull [MODEL]",
		Short:   "Download a model of the catalogue and verify it",
		Example: "  dure pull\n  dure pull smollm2-135m",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			home, err := homeDir()
			if err != nil {
				return err
			}
			entry, err := resolve(home, args)
			if err != nil {
				return err
			}
			show := newProgress(os.Stderr)
			path, err := catalog.Pull(ctx, &fetch.Fetcher{Home: home, Log: newLogger(os.Stderr, "info"), Progress: show.show}, entry)
			show.end()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "model %s is ready in %s\n", entry.Name, path)
			return nil
		},
	}
}

// resolve finds the model named by the first argument, or the default one.
func resolve(home string, args []string) (catalog.Entry, error) {
	cat, err := openCatalog(home)
	if err != nil {
		return catalog.Entry{}, err
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	return cat.Resolve(name)
}

func listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the models that dure knows, and which are on this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := homeDir()
			if err != nil {
				return err
			}
			cat, err := openCatalog(home)
			if err != nil {
				return err
			}
			type row struct {
				Name    string   `json:"name"`
				Bytes   int64    `json:"bytes"`
				Licence string   `json:"licence"`
				Roles   []string `json:"roles"`
				Default bool     `json:"default"`
				Path    string   `json:"path,omitempty"` // empty = not on this machine
			}
			var rows []row
			for _, e := range cat.Entries {
				path, ok := catalog.Local(home, e)
				if !ok {
					path = ""
				}
				rows = append(rows, row{e.Name, e.Bytes, e.Licence, e.Roles, e.Name == cat.DefaultName, path})
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(rows)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tSIZE\tLICENCE\tON THIS MACHINE")
			for _, r := range rows {
				where := "no: dure pull " + r.Name
				if r.Path != "" {
					where = r.Path
				}
				if r.Default {
					r.Name += " (default)"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, size(r.Bytes), r.Licence, where)
			}
			fmt.Fprintf(w, "your own entries go into %s\n", filepath.Clean(catalog.UserFile(home)))
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
