package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dure/inference/bench/swarm"
)

// swapLeaks is what a server holds before and after.
type swapLeaks struct {
	Before footprint `json:"before"`
	After  footprint `json:"after"`
}

// footprint of a server on this machine.
type footprint struct {
	RSS       int64 `json:"rss_bytes"`
	Files     int   `json:"open_files"`
	Processes int   `json:"processes"` // children
	Temporary int   `json:"temporary"` // its folders where temporary files go
}

type swapResult struct {
	*swarm.SwapReport
	Leaks *swapLeaks `json:"leaks,omitempty"` // of a server on this machine
}

func benchSwapCommand() *cobra.Command {
	var opt endpointOptions
	shape := swarm.DefaultSwapShape("", "")
	models := []string{"smollm2-135m", "gemma-3-270m"}
	pid := 0
	cmd := &cobra.Command{
		Use:   "swap",
		Short: "Measure what it costs to swap models, and what is lost by it",
		Long: `Time loads of the first model into an empty server and in the place of the second.
Then have sessions of both take turns, so that the server swaps all the time, and
count the turns that had to read again what was read before. The server must have
been started with --max-models 1; a short --turn makes it swap often. With --pid its memory, files and processes are
compared before and after.`,
		Example: "  dure serve --max-models 1 --turn 1s --context 1024 --sequences 4 &\n  dure bench swap --swaps 200 --pid $!",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(models) != 2 || models[0] == models[1] {
				return errors.New("--models: name two")
			}
			shape.Models = [2]string(models)
			return measure(cmd, &opt, printSwap, func(ctx context.Context, e *swarm.Endpoint) (*swapResult, error) {
				return benchSwap(ctx, e, shape, pid, cmd.ErrOrStderr())
			})
		},
	}
	opt.register(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&models, "models", models, "the two models")
	f.IntVar(&shape.Swaps, "swaps", shape.Swaps, "loads under load")
	f.IntVar(&shape.Timed, "timed", shape.Timed, "loads that are timed without load")
	f.IntVar(&shape.Sessions, "sessions", shape.Sessions, "sessions of each model")
	f.IntVar(&pid, "pid", 0, "the server's process, to look for leaks")
	f.Uint64Var(&shape.Seed, "seed", shape.Seed, "which text")
	return cmd
}

// settling swaps are made before the first look: pools of memory are filled then.
const settling = 10

func benchSwap(ctx context.Context, e *swarm.Endpoint, shape swarm.SwapShape, pid int, progress io.Writer) (*swapResult, error) {
	out := &swapResult{}
	tell := func(n int) { fmt.Fprintf(progress, "\r%d of %d swaps", n, shape.Swaps) }
	if pid > 0 {
		first := shape
		first.Swaps, first.Timed = min(settling, shape.Swaps), 1
		first.Seed++
		if _, err := swarm.Swap(ctx, e, first, nil); err != nil {
			return nil, err
		}
		out.Leaks = &swapLeaks{Before: lookAt(pid)}
	}
	var err error
	out.SwapReport, err = swarm.Swap(ctx, e, shape, tell)
	fmt.Fprintln(progress)
	if out.Leaks != nil {
		out.Leaks.After = lookAt(pid)
	}
	return out, err
}

// lookAt a server's process; what cannot be read is 0.
func lookAt(pid int) (f footprint) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if data, err := os.ReadFile(filepath.Join(proc, "statm")); err == nil {
		if fields := strings.Fields(string(data)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			f.RSS = pages * int64(os.Getpagesize())
		}
	}
	if list, err := os.ReadDir(filepath.Join(proc, "fd")); err == nil {
		f.Files = len(list)
	}
	tasks, _ := filepath.Glob(filepath.Join(proc, "task", "*", "children"))
	for _, path := range tasks {
		if data, err := os.ReadFile(path); err == nil {
			f.Processes += len(strings.Fields(string(data)))
		}
	}
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), "dure-*"))
	f.Temporary = len(folders)
	return f
}

func printSwap(w io.Writer, r *swapResult) {
	fmt.Fprintf(w, "%s and %s by turns\n", r.Shape.Models[0], r.Shape.Models[1])
	fmt.Fprintf(w, "  load into an empty server  %s\n", spread(r.Bare))
	fmt.Fprintf(w, "  in the other's place       %s\n", spread(r.Swap))
	fmt.Fprintf(w, "  swap / load                %.2f\n", r.Ratio())
	fmt.Fprintf(w, "  under load                 %d loads, %d turns answered, %d errors\n", r.Loads, r.Answered, r.Errors)
	fmt.Fprintf(w, "  sessions that went on      %d turns, %d of them lost what was read before, %d read again what to fetch was slower\n", r.Continued, r.Lost, r.Quicker)
	if r.Example != "" {
		fmt.Fprintf(w, "  for example                %s\n", r.Example)
	}
	if l := r.Leaks; l != nil {
		fmt.Fprintf(w, "  server's memory            %s before, %s after\n", size(l.Before.RSS), size(l.After.RSS))
		fmt.Fprintf(w, "  files, processes, folders  %d, %d, %d before; %d, %d, %d after\n", l.Before.Files, l.Before.Processes, l.Before.Temporary,
			l.After.Files, l.After.Processes, l.After.Temporary)
	}
}
