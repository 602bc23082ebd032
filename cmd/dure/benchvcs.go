package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"dure/runtime/vcs/bench"
)

// vcsOptions say how the git store is measured.
type vcsOptions struct {
	seconds, writers, files int
	dir                     string
	peers, asJSON           bool
}

// vcsReport is what came of it.
type vcsReport struct {
	Flush      time.Duration  `json:"flush_ns"`
	Runs       []bench.Result `json:"runs"`
	GitCommit  float64        `json:"git_commit_per_second,omitempty"`
	FastImport float64        `json:"fast_import_per_second,omitempty"`
}

func benchVCSCommand() *cobra.Command {
	var opt vcsOptions
	cmd := &cobra.Command{
		Use:   "vcs",
		Short: "Have hundreds of agents commit to the git store, and git beside it",
		Long: `Have agents commit one changed file after the other to the git store, each on its
branch, and have git check and clone what they made. Then the same with a tree of ten
times as many files. Beside it are measured: what a flush of the disk costs, ` + "`git commit`" + `
as a process each, and ` + "`git fast-import`" + `, which flushes once at its end.`,
		Example: "  dure bench vcs --seconds 10\n  dure bench vcs --dir /mnt/other-disk",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return benchVCS(ctx, cmd.OutOrStdout(), opt)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.seconds, "seconds", 60, "how long the writers run, for each size of tree")
	f.IntVar(&opt.writers, "writers", 500, "agents that commit at once")
	f.IntVar(&opt.files, "files", 1000, "files of the tree")
	f.StringVar(&opt.dir, "dir", "", "where repositories are made; empty: the folder for temporary files")
	f.BoolVar(&opt.peers, "peers", true, "measure git beside it")
	f.BoolVar(&opt.asJSON, "json", false, "print JSON")
	return cmd
}

func benchVCS(ctx context.Context, out io.Writer, opt vcsOptions) (err error) {
	if opt.seconds < 1 || opt.writers < 1 || opt.files < 1 {
		return errors.New("--seconds, --writers and --files must be positive")
	}
	dir, err := os.MkdirTemp(opt.dir, "dure-bench-vcs-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var rep vcsReport
	if rep.Flush, err = bench.FlushCost(dir); err != nil {
		return err
	}
	shape := bench.Shape{Dir: dir, Writers: opt.writers, Files: opt.files, For: time.Duration(opt.seconds) * time.Second, Git: "git"}
	for _, files := range []int{opt.files, 10 * opt.files} {
		shape.Files = files
		res, err := bench.Commits(ctx, shape)
		if err != nil {
			return err
		}
		rep.Runs = append(rep.Runs, res)
	}
	if opt.peers {
		shape.Files, shape.For = opt.files, min(shape.For, 10*time.Second)
		if rep.GitCommit, err = bench.GitCommit(ctx, shape); err != nil {
			return err
		}
		if rep.FastImport, err = bench.FastImport(ctx, shape, 20_000); err != nil {
			return err
		}
	}
	if opt.asJSON {
		return json.NewEncoder(out).Encode(rep)
	}
	printVCS(out, rep)
	return nil
}

func printVCS(out io.Writer, rep vcsReport) {
	fmt.Fprintf(out, "a flush of 16 KiB: %v (median)\n\n", rep.Flush.Round(time.Microsecond))
	fmt.Fprintln(out, "| files | writers | durable commits/s | p50 | p99 | longest | commits a flush | bytes written a commit | kept | git fsck | git clone |\n|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rep.Runs {
		fmt.Fprintf(out, "| %d | %d | %.0f | %v | %v | %v | %.1f | %.0f | %.0f | clean, %v | %d commits, %v |\n", r.Files, r.Writers, r.Rate,
			r.P50.Round(time.Millisecond), r.P99.Round(time.Millisecond), r.Longest.Round(time.Millisecond), r.PerFlush, r.BytesEach, r.KeptEach,
			r.Fsck.Round(100*time.Millisecond), r.CommitsInside, r.Clone.Round(100*time.Millisecond))
	}
	if n := len(rep.Runs); n == 2 {
		fmt.Fprintf(out, "\nthe larger tree / the smaller: %.2f\n", rep.Runs[1].Rate/rep.Runs[0].Rate)
	}
	if rep.GitCommit > 0 {
		fmt.Fprintf(out, "git commit, a process each: %.0f/s\ngit fast-import, one flush at its end: %.0f/s\n", rep.GitCommit, rep.FastImport)
	}
}
