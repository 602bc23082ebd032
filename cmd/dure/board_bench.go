package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dure/runtime/board"
	"dure/runtime/board/load"
)

// boardOptions say how the tables are worked on.
type boardOptions struct {
	store        string
	clients      int
	reads        float64
	hostile      float64
	endlessWrite bool
	long         time.Duration
	seed         uint64
	shell        bool
	pause        time.Duration
	asJSON       bool
}

func benchBoardCommand() *cobra.Command {
	opt := boardOptions{store: "sqlite", clients: 1000, reads: 8.5, hostile: 0.01, long: 20 * time.Second, seed: 1}
	cmd := &cobra.Command{
		Use:   "board",
		Short: "Have a thousand agents work on the shared tables and measure it",
		Long: `Have agents read, write and claim in the shared tables, with all limits on; some of
their statements try what no agent may. Printed are calls a second, how long they
took, what was refused, and what should have been: an escape is an attack that was
carried out, a foreign row one that is stored under another name than its writer's.

With --shell every call is a process of its own, ` + "`dure sql`" + ` in an agent's shell over
its socket; --pause is how long each agent does something else between two calls.`,
		Example: "  dure bench board\n  dure bench board --store postgres://user@localhost/dure\n  dure bench board --shell --clients 200 --pause 10s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return benchBoard(ctx, cmd.OutOrStdout(), opt)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.store, "store", opt.store, "sqlite, sqlite:FOLDER or postgres://...")
	f.IntVar(&opt.clients, "clients", opt.clients, "agents at work")
	f.Float64Var(&opt.reads, "reads", opt.reads, "reads for each write")
	f.Float64Var(&opt.hostile, "hostile", opt.hostile, "share of calls that are attacks")
	f.BoolVar(&opt.endlessWrite, "endless-writes", false, "let some attacks be writes that never end; each holds up all writes for 5 s")
	f.DurationVar(&opt.long, "time", opt.long, "how long they work")
	f.Uint64Var(&opt.seed, "seed", opt.seed, "what the calls follow from")
	f.BoolVar(&opt.shell, "shell", false, "every call through a process of its own")
	f.DurationVar(&opt.pause, "pause", 0, "how long an agent pauses between calls, on average")
	f.BoolVar(&opt.asJSON, "json", false, "print JSON")
	return cmd
}

func benchBoard(ctx context.Context, out io.Writer, opt boardOptions) (err error) {
	if opt.clients < 1 || opt.long <= 0 || opt.hostile < 0 || opt.hostile > 1 || opt.reads < 0 {
		return errors.New("--clients and --time must be positive, --hostile from 0 to 1, --reads not negative")
	}
	limits := board.DefaultLimits()
	limits.PerMinute = 1_000_000 // the only one that would measure itself
	dir, err := os.MkdirTemp("", "dure-bench-board-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := openBoard(ctx, opt.store, dir, limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	mix := load.Mix{Clients: opt.clients, Reads: opt.reads, Hostile: opt.hostile, Attacks: st.attacks, Seed: opt.seed, Pause: opt.pause}
	if opt.endlessWrite {
		mix.Attacks = append(mix.Attacks, load.EndlessWrite())
	}
	if opt.shell {
		doors := newShellDoors(filepath.Join(dir, "doors"))
		defer func() { err = errors.Join(err, doors.close()) }()
		mix.Through = doors.open
	}
	r, err := load.Run(ctx, st.board, mix, opt.long)
	if err != nil {
		return err
	}
	if opt.asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	return printBoardReport(out, opt, r)
}

func printBoardReport(out io.Writer, opt boardOptions, r load.Report) error {
	fmt.Fprintf(out, "%d agents on %s, %v, %.1f reads a write, %.1f %% attacks\n\n", opt.clients, opt.store, opt.long, opt.reads, 100*opt.hostile)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tcalls\ta second\tp50 ms\tp95 ms\tp99 ms\tmax ms\t")
	for _, kind := range slices.Sorted(maps.Keys(r.Calls)) {
		t := r.Calls[kind]
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", kind, t.N, t.PerSecond, t.P50, t.P95, t.P99, t.Max)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, why := range slices.Sorted(maps.Keys(r.Refused)) {
		fmt.Fprintf(out, "refused, %s: %d\n", why, r.Refused[why])
	}
	for _, f := range r.Failed {
		fmt.Fprintln(out, "failed:", f)
	}
	_, err := fmt.Fprintf(out, "escapes: %d %v\nrows under a wrong name: %d\n", len(r.Escapes), r.Escapes, r.Foreign)
	return err
}
