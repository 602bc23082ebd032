package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	landbench "dure/runtime/vcs/land/bench"

	store "dure/runtime/vcs/bench"
	"dure/runtime/vcs/land"
)

type landOptions struct {
	dir           string
	agents, files int
	lines         int
	hot           float64
	seconds       float64
	asJSON        bool
}

// landReport is what `dure bench land` prints.
type landReport struct {
	Flush time.Duration       `json:"flush_ns"`
	Runs  []*landbench.Result `json:"runs"`
	Git   []string            `json:"git"` // what git says of each repository
}

func benchLandCommand() *cobra.Command {
	var opt landOptions
	cmd := &cobra.Command{
		Use:   "land",
		Short: "Measure how many commits of agents land on main",
		Long: `Let agents change a line, commit and land, all at once: evenly over a tree, over a
tree ten times as large, and with a part of the edits on one large file. Git then
checks each repository. Nothing else should compute meanwhile.`,
		Example: "  dure bench land\n  dure bench land --seconds 60 --agents 500",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := benchLand(cmd.Context(), opt, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if opt.asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(r)
			}
			printLand(cmd.OutOrStdout(), r)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.dir, "dir", "", "folder on the disk to measure; default: the one for temporary files")
	f.IntVar(&opt.agents, "agents", 500, "agents that work at once")
	f.IntVar(&opt.files, "files", 1000, "files of the tree; the large one has ten times as many")
	f.IntVar(&opt.lines, "lines", 2000, "lines of the one large file")
	f.Float64Var(&opt.hot, "hot", 0.25, "share of the edits that go to it")
	f.Float64Var(&opt.seconds, "seconds", 20, "seconds of each run")
	f.BoolVar(&opt.asJSON, "json", false, "print JSON")
	return cmd
}

func benchLand(ctx context.Context, opt landOptions, progress io.Writer) (*landReport, error) {
	dir, err := os.MkdirTemp(opt.dir, "dure-bench-land-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the repositories: %w", err)
	}
	defer os.RemoveAll(dir)
	r := &landReport{}
	if r.Flush, err = store.FlushCost(dir); err != nil {
		return nil, fmt.Errorf("measure the disk: %w", err)
	}
	shape := landbench.Shape{Dir: dir, Agents: opt.agents, Files: opt.files, For: time.Duration(opt.seconds * float64(time.Second))}
	shape.Landing.Breaker.Rate = -1 // the load is the storm
	even, large, hot := shape, shape, shape
	even.Name = "even"
	large.Name, large.Files = "large", 10*opt.files
	hot.Name, hot.Hot, hot.Lines = "hot", opt.hot, opt.lines
	for _, s := range []landbench.Shape{even, large, hot} {
		fmt.Fprintf(progress, "%s: %d agents, %d files, %v\n", s.Name, s.Agents, s.Files, s.For)
		res, err := landbench.Run(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", s.Name, err)
		}
		r.Runs = append(r.Runs, &res)
		verdict, err := landVerdict(ctx, filepath.Join(dir, s.Name+".git"), res.Lands)
		if err != nil {
			return nil, err
		}
		r.Git = append(r.Git, verdict)
	}
	return r, nil
}

// landVerdict has git check a repository: sound, and a first parent for each landing.
func landVerdict(ctx context.Context, repo string, lands int64) (string, error) {
	if out, err := exec.CommandContext(ctx, "git", "-C", repo, "fsck", "--strict", "--no-dangling").CombinedOutput(); err != nil {
		return "", fmt.Errorf("git fsck: %w: %s", err, out)
	}
	out, err := exec.CommandContext(ctx, "git", "-C", repo, "log", "--first-parent", "--merges", "--format=%cn", "main").Output()
	if err != nil {
		return "", fmt.Errorf("git log: %w", err)
	}
	if n := int64(strings.Count(string(out), "landing\n")); n != lands {
		return "", fmt.Errorf("git counts %d landings, and %d were answered", n, lands)
	}
	return fmt.Sprintf("fsck clean, %d landings", lands), nil
}

func printLand(w io.Writer, r *landReport) {
	fmt.Fprintf(w, "a flush of the disk takes %v\n", r.Flush.Round(time.Microsecond))
	for i, res := range r.Runs {
		fmt.Fprintf(w, "%-6s %6d files  %7.0f lands/s  %5.1f %% retries  %7.0f commits/s  p50 %v  p99 %v  %.0f a batch\n",
			res.Name, res.Files, res.Rate, 100*res.Share, res.Commits, res.P50.Round(time.Millisecond), res.P99.Round(time.Millisecond), res.Batch)
		fmt.Fprintf(w, "       splice %d, lines %d, git %d; on the one file %d; git: %s\n",
			res.Tiers[land.TierSplice], res.Tiers[land.TierLines], res.Tiers[land.TierGit], res.HotLands, r.Git[i])
	}
	fmt.Fprintf(w, "large / even: %.2f\n", r.Runs[1].Rate/r.Runs[0].Rate)
}
