package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"dure/inference/catalog"
	"dure/inference/fetch"
	"dure/inference/library"
	"dure/kvcache/store"
)

func rmCommand() *cobra.Command {
	var leftovers, states, yes bool
	cmd := &cobra.Command{
		Use:   "rm [MODEL]...",
		Short: "Remove models, or what dure no longer needs, from the disk",
		Long: `Remove models, or what dure no longer needs, from the disk.

Only what dure made is removed: your own files, and those of other programs that are
used in place, stay. --leftovers lists unfinished downloads, archives, damaged files,
models that the catalogue no longer has and engines of other versions, and asks.
--states removes the states of conversations of all models that are not loaded.`,
		Example: "  dure rm qwen3.8-27b\n  dure rm --leftovers\n  dure rm --states",
		RunE: func(cmd *cobra.Command, args []string) error {
			if chosen := []bool{len(args) > 0, leftovers, states}; count(chosen) != 1 {
				return errors.New("name the models to remove, or use --leftovers or --states alone; `dure list` shows what there is")
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			home, err := homeDir()
			if err != nil {
				return err
			}
			if states {
				return removeStates(cmd.OutOrStdout(), home)
			}
			cat, err := openCatalog(home)
			if err != nil {
				return err
			}
			f := &fetch.Fetcher{Home: home, Log: newLogger(os.Stderr, "info")}
			if leftovers {
				return removeLeftovers(cmd.InOrStdin(), cmd.OutOrStdout(), f, cat, yes)
			}
			for _, name := range args {
				if err := removeModel(ctx, cmd.OutOrStdout(), f, cat, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&leftovers, "leftovers", false, "list what is no longer needed, and remove it after a yes")
	cmd.Flags().BoolVar(&states, "states", false, "remove what is kept of conversations, but for models that are loaded")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --leftovers: do not ask")
	return cmd
}

func count(all []bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

// removeStates removes what is kept of conversations on disk.
func removeStates(out io.Writer, home string) error {
	dir := filepath.Join(home, cacheFolder)
	before, err := catalog.DiskUse(dir)
	if err != nil {
		return err
	}
	if err := store.Prune(dir, "", 0); err != nil {
		return err
	}
	after, err := catalog.DiskUse(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "removed %s of states\n", size(before-after))
	if after > 0 {
		fmt.Fprintf(out, "kept %s of models that are loaded; stop their server first\n", size(after))
	}
	return nil
}

// removeModel also takes the name of a model that the catalogue no longer has.
func removeModel(ctx context.Context, out io.Writer, f *fetch.Fetcher, cat *catalog.Catalog, name string) error {
	e, known := cat.Find(name)
	if known && e.Source.Path != "" {
		return fmt.Errorf("model %s is your own file %s: dure never removes it; take its entry out of %s", name, e.Source.Path, catalog.UserFile(f.Home))
	}
	if known && e.Remote() {
		return fmt.Errorf("model %s runs on another server and has nothing on this disk", name)
	}
	if _, err := os.Stat(filepath.Join(f.Home, "models", name)); !known && (errors.Is(err, fs.ErrNotExist) || strings.Contains(name, "/")) {
		_, err := cat.Resolve(name) // says what there is
		if err == nil {
			err = fmt.Errorf("%s is a file of your own: dure never removes it", name)
		}
		return err
	}
	r, err := catalog.Remove(ctx, f, name)
	if err != nil {
		return err
	}
	if len(r.Files) == 0 {
		fmt.Fprintf(out, "model %s had nothing on this disk\n", name)
	} else {
		fmt.Fprintf(out, "removed model %s, %s\n", name, size(r.Bytes))
	}
	for _, file := range r.Kept {
		fmt.Fprintf(out, "kept %s, which dure did not make\n", file)
	}
	return nil
}

// removal is a thing to remove, and how.
type removal struct {
	catalog.Leftover
	drop func() error
}

func removeLeftovers(in io.Reader, out io.Writer, f *fetch.Fetcher, cat *catalog.Catalog, yes bool) error {
	all, err := allLeftovers(f, cat)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(out, "nothing is left over")
		return nil
	}
	var sum int64
	for _, r := range all {
		sum += r.Bytes
		fmt.Fprintf(out, "%10s  %s\n            %s\n", size(r.Bytes), r.Path, r.Why)
	}
	if !yes {
		fmt.Fprintf(out, "remove all of this, %s? [y/N] ", size(sum))
		answer, err := bufio.NewReader(in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			fmt.Fprintln(out, "nothing was removed")
			return nil
		}
	}
	var errs []error
	var freed int64
	for _, r := range all {
		if err := r.drop(); err != nil {
			errs = append(errs, err)
			continue
		}
		freed += r.Bytes
	}
	fmt.Fprintf(out, "removed %s\n", size(freed))
	return errors.Join(errs...)
}

func allLeftovers(f *fetch.Fetcher, cat *catalog.Catalog) ([]removal, error) {
	left, err := catalog.Leftovers(f, cat)
	if err != nil {
		return nil, err
	}
	var all []removal
	for _, l := range left {
		all = append(all, removal{l, func() error { return catalog.Drop(f, l) }})
	}
	engines, err := oldEngines(f)
	return append(all, engines...), err
}

// oldEngines are folders with a manifest of dure that are no set it could use now:
// of another version, or broken.
func oldEngines(f *fetch.Fetcher) ([]removal, error) {
	usable := map[string]bool{}
	sets, _ := library.Installed(f.Home) // its error tells of the broken ones, which are listed here
	for _, s := range sets {
		usable[s.Root] = true
	}
	manifests, err := filepath.Glob(filepath.Join(f.Home, "engine", "*", "manifest.json"))
	var all []removal
	for _, m := range manifests {
		dir := filepath.Dir(m)
		cut := strings.LastIndex(filepath.Base(dir), "-")
		if usable[dir] || cut < 0 {
			continue
		}
		lock := "engine-" + filepath.Base(dir)[:cut]
		bytes, sizeErr := catalog.DiskUse(dir)
		err = errors.Join(err, sizeErr)
		all = append(all, removal{catalog.Leftover{Path: dir, Bytes: bytes, Why: "engine libraries of another version, or broken; this dure does not use them"},
			func() error { return dropEngine(f, lock, dir) }})
	}
	return all, err
}

func dropEngine(f *fetch.Fetcher, lock, dir string) error {
	unlock, free, err := f.TryLock(lock)
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	if !free {
		return fmt.Errorf("remove %s: another process is installing this engine", dir)
	}
	defer unlock()
	return os.RemoveAll(dir)
}
