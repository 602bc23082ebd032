package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	benchcard "dure/inference/bench/card"
	"dure/inference/catalog"
	"dure/inference/device"
)

type cardOptions struct {
	quick, resume bool
	time          time.Duration
	out, peer     string
	threads       int
}

func benchCardCommand() *cobra.Command {
	var opt cardOptions
	cmd := &cobra.Command{
		Use:   "card [MODEL]",
		Short: "Measure a model on this machine and write a report to share",
		Long: `Load the model as ` + "`dure serve`" + ` would, compare the plan with what was allocated, and
measure load, prefill, decode with 1 to 32 streams at several context lengths, shared
beginnings, agents that come back, types of the cache, speculative decoding, and power
and temperature where a card tells them. Written are card.md, card.json and the curves
as SVG. Each figure is kept as soon as it is there: Ctrl-C ends with what there is, and
--resume goes on. What there was no time for is named. The measured costs of steps are
kept for the scheduler. Nothing else should compute meanwhile. ` + synthModel + ` stands for a
synthetic model of 120 million parameters.`,
		Example: "  dure bench card\n  dure bench card qwen3.8-27b --peer /usr/local/bin/llama-server\n  dure bench card --resume --max-time 40m",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return benchCard(cmd, args, opt) },
	}
	f := cmd.Flags()
	f.BoolVar(&opt.quick, "quick", false, "few repetitions and short contexts: a look, in about a minute for a small model")
	f.DurationVar(&opt.time, "max-time", 20*time.Minute, "how long this run may measure")
	f.StringVar(&opt.out, "out", "", "folder of the report (card-MODEL)")
	f.StringVar(&opt.peer, "peer", "", "an installed llama-server to measure beside, on the same file")
	f.BoolVar(&opt.resume, "resume", false, "go on with the measurement in the folder")
	f.IntVar(&opt.threads, "threads", 0, "compute threads on the CPU; 0 = one for each physical core")
	return cmd
}

// cardRig is what all parts of the report share.
type cardRig struct {
	opt     cardOptions
	log     io.Writer
	host    *host
	entry   catalog.Entry
	path    string
	placed  placement
	devices []device.Device
	subject benchcard.Subject
	remove  func() // what was made for the measurement
}

func benchCard(cmd *cobra.Command, args []string, opt cardOptions) error {
	if opt.time < time.Second {
		return fmt.Errorf("--max-time %v: must be at least 1s", opt.time)
	}
	if opt.threads < 0 {
		return fmt.Errorf("--threads %d: must not be negative", opt.threads)
	}
	if opt.peer != "" {
		if info, err := os.Stat(opt.peer); err != nil || info.IsDir() {
			return fmt.Errorf("--peer %s: no such program; name the file of a llama-server", opt.peer)
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	r, err := newCardRig(ctx, args, opt, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer r.remove()
	defer r.host.close()
	if err := os.MkdirAll(r.opt.out, 0o755); err != nil {
		return fmt.Errorf("folder of the report: %w", err)
	}
	j, err := benchcard.OpenJournal(filepath.Join(r.opt.out, "journal.jsonl"), r.subject, opt.resume)
	switch {
	case errors.Is(err, benchcard.ErrExists):
		return fmt.Errorf("%w; go on with --resume, or name another folder with --out", err)
	case err != nil:
		return fmt.Errorf("%w; name another folder with --out", err)
	}
	defer j.Close()
	items := r.items()
	r.say("%s on %s, report in %s", r.subject.Model, r.subject.Engine, r.opt.out)
	err = benchcard.Run(ctx, j, items, opt.time, func(line string) { r.say("%s", line) })
	interrupted := ctx.Err() != nil
	if interrupted {
		err = nil // ends with what there is
	}
	if err = errors.Join(err, r.write(j, items)); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(r.opt.out, "card.md"))
	if interrupted {
		r.say("interrupted; the report has what was measured, and --resume goes on")
		return ctx.Err()
	}
	return nil
}

func (r *cardRig) say(format string, args ...any) { fmt.Fprintf(r.log, format+"\n", args...) }

// newCardRig finds model and engine, and plans the load.
func newCardRig(ctx context.Context, args []string, opt cardOptions, log io.Writer) (*cardRig, error) {
	home, err := homeDir()
	if err != nil {
		return nil, err
	}
	r := &cardRig{opt: opt, log: log, remove: func() {}}
	if len(args) == 1 && args[0] == synthModel {
		if args, err = r.synthetic(home); err != nil {
			return nil, err
		}
	}
	if err := r.ready(ctx, home, args); err != nil {
		r.remove()
		return nil, err
	}
	return r, nil
}

// ready starts the host.
func (r *cardRig) ready(ctx context.Context, home string, args []string) (err error) {
	if r.entry, r.path, err = resolveLocal(home, args); err != nil {
		return err
	}
	if r.path, err = filepath.Abs(r.path); err != nil {
		return err
	}
	if r.opt.out == "" {
		r.opt.out = "card-" + r.entry.Name
	}
	ho := hostOptions{threads: r.opt.threads, flash: "auto", logLevel: "warn"}
	ho.load.kv = usualCache
	ho.cache.disk = "0" // what was kept before would be no measurement
	if r.host, err = newHost(ctx, ho, r.log, r.entry); err != nil {
		return err
	}
	if err = r.look(ctx); err != nil {
		r.host.close()
	}
	return err
}

// look plans the load and says what is measured.
func (r *cardRig) look(ctx context.Context) (err error) {
	if r.placed, err = r.host.place(ctx, r.entry, r.path, 0); err != nil {
		return err
	}
	r.devices = r.host.devices(ctx)
	r.say("reading the model's file for its hash")
	r.subject, err = r.describe(ctx)
	return err
}

// write makes the report of what the journal has, and keeps the costs of steps.
func (r *cardRig) write(j *benchcard.Journal, items []benchcard.Item) error {
	report := benchcard.Report{Schema: benchcard.Schema, Made: time.Now().UTC(), Subject: r.subject, Figures: benchcard.Figures}
	j.Fill(&report, items)
	costs := benchcard.CostsOf(report.Points)
	report.Lines = benchcard.LinesOf(costs.Chunks)
	failed := report.Write(r.opt.out)
	if !costs.Empty() && r.placed.plan != nil {
		failed = errors.Join(failed, rememberSteps(r.host.home, r.stepRow(costs)))
	}
	return failed
}
