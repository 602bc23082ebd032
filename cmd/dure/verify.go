package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"dure/inference/catalog"
	"dure/inference/fetch"
)

func verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify [MODEL]",
		Short: "Read models' files again and compare them with their hashes",
		Long: `Read models' files again and compare them with their hashes: those of one model, or
of all that are on this machine. A damaged file of dure's own is set aside, so that
nothing loads it; files of yours and of other programs are left alone.`,
		Example: "  dure verify\n  dure verify smollm2-135m",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			home, err := homeDir()
			if err != nil {
				return err
			}
			entries, err := toVerify(home, args)
			if err != nil {
				return err
			}
			show := newProgress(os.Stderr)
			f := &fetch.Fetcher{Home: home, Log: newLogger(os.Stderr, "info"), Progress: show.show}
			var errs []error
			for _, e := range entries {
				files, err := catalog.Verify(ctx, f, e)
				show.end()
				if ctx.Err() != nil {
					return err
				}
				errs = append(errs, err)
				for _, v := range files {
					what := "sha256 " + v.SHA256
					if v.SHA256 == "" {
						what = "header only, no hash of it is known"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s is whole: %s (%s)\n", e.Name, v.Path, what)
				}
			}
			return errors.Join(errs...)
		},
	}
}

// toVerify is the model that is named, or all that are here.
func toVerify(home string, args []string) ([]catalog.Entry, error) {
	if len(args) > 0 {
		e, err := resolve(home, args)
		return []catalog.Entry{e}, err
	}
	cat, err := openCatalog(home)
	if err != nil {
		return nil, err
	}
	var here []catalog.Entry
	for _, e := range cat.Entries {
		if _, ok := catalog.Local(home, e); ok {
			here = append(here, e)
		}
	}
	if len(here) == 0 {
		return nil, errors.New("no model is on this machine; `dure pull` brings the default one")
	}
	return here, nil
}
