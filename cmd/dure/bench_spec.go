package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dure/inference"
	"dure/inference/bench"
	benchspec "dure/inference/bench/spec"
	"dure/inference/llm"
)

// specBench compares a model with speculative decoding and the same without.
type specBench struct {
	host     hostOptions
	streams  []int
	tokens   int
	pairs    int
	contexts []int
	task     string
	noRows   bool
	asJSON   bool
}

func benchSpecCommand() *cobra.Command {
	var b specBench
	cmd := &cobra.Command{
		Use:   "spec [MODEL]",
		Short: "Measure what speculative decoding wins, and that it costs nothing where it wins nothing",
		Long: `Time steps of one sequence with 1 to 64 rows, which is what there is to be won. Then
load the model twice, with --spec or --draft and without, and have both write the same
in turn: a file again with one change, and prose, in which nothing can be guessed.
Printed are the medians of the ratios pair by pair, the guesses that were checked and
those that were right, and how many answers were the same text. Nothing else should
compute meanwhile.`,
		Example: "  dure bench spec\n  dure bench spec --task re-emit --streams 1,2,4,8 --pairs 7\n  dure bench spec --spec off --draft smollm2-135m   the mechanism alone: a model that is its own draft",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return b.run(cmd, args) },
	}
	f := cmd.Flags()
	b.host.register(cmd)
	f.IntSliceVar(&b.streams, "streams", []int{1, 2, 4, 8}, "answers written at the same time")
	f.IntVar(&b.tokens, "tokens", 300, "tokens of each answer")
	f.IntVar(&b.pairs, "pairs", 5, "pairs of every comparison")
	f.StringVar(&b.task, "task", "", "only this task: re-emit, prose, or \"prose sampled\"")
	f.IntSliceVar(&b.contexts, "contexts", []int{500, 3000}, "lengths of the sequence, in tokens, at which steps are timed")
	f.BoolVar(&b.noRows, "no-rows", false, "leave out the timing of steps")
	f.BoolVar(&b.asJSON, "json", false, "print JSON")
	return cmd
}

// specReport is what is printed.
type specReport struct {
	Rows  []bench.RowCost    `json:"rows,omitempty"`
	Tasks []benchspec.Result `json:"tasks"`
}

func (b *specBench) run(cmd *cobra.Command, args []string) error {
	tasks, err := b.chosen()
	if err != nil {
		return err
	}
	if err := b.host.validate(); err != nil {
		return err
	}
	if s := b.host.load.spec; s.mode == string(llm.SpeculationOff) && (s.draft == "" || s.draft == draftOff) {
		return errors.New("--spec off without --draft: that is what the other side does; name what is to be measured")
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var report specReport
	if !b.noRows {
		if report.Rows, err = b.rows(ctx, args); err != nil {
			return err
		}
	}
	report.Tasks, err = b.compare(ctx, args, tasks)
	if b.asJSON {
		return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(report))
	}
	return errors.Join(err, report.print(cmd.OutOrStdout()))
}

func (b *specBench) chosen() ([]benchspec.Task, error) {
	if b.pairs < 1 || b.tokens < 2 {
		return nil, errors.New("needs at least one pair, and two tokens of each answer")
	}
	for _, n := range b.streams {
		if n < 1 || n > 64 {
			return nil, fmt.Errorf("--streams %d: must be 1 to 64", n)
		}
	}
	for _, t := range benchspec.Tasks {
		switch b.task {
		case "":
			return benchspec.Tasks, nil
		case t.Name:
			return []benchspec.Task{t}, nil
		}
	}
	return nil, fmt.Errorf("--task %q: must be re-emit, prose, or \"prose sampled\"", b.task)
}

// rowSizes are timed; the first is what the others are compared with.
var rowSizes = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

func (b *specBench) rows(ctx context.Context, args []string) ([]bench.RowCost, error) {
	r, err := newLoneRig(ctx, args, benchOptions{threads: b.host.threads})
	if err != nil {
		return nil, err
	}
	return bench.Rows(ctx, bench.RowOptions{
		EngineDir: r.engine.Set.Lib(), ModelPath: r.path, GPULayers: r.layers(), Threads: r.opt.threads, Poll: defaultPoll,
		Contexts: b.contexts, Rows: rowSizes, Repetitions: 5,
	})
}

// compare loads the model twice and runs the tasks.
func (b *specBench) compare(ctx context.Context, args []string, tasks []benchspec.Task) ([]benchspec.Result, error) {
	on, closeOn, err := b.open(ctx, args, b.host)
	if err != nil {
		return nil, err
	}
	defer closeOn()
	without := b.host
	without.load.spec = specOptions{mode: string(llm.SpeculationOff), draft: draftOff}
	off, closeOff, err := b.open(ctx, args, without)
	if err != nil {
		return nil, err
	}
	defer closeOff()
	return benchspec.Compare(ctx, benchspec.PairOptions{
		On: on, Off: off, Tasks: tasks, Streams: b.streams, Tokens: b.tokens, Pairs: b.pairs,
		Told: func(r benchspec.Result) {
			fmt.Fprintf(os.Stderr, "%s, %d at once: %v, %.1f and %.1f tokens/s\n", r.Task, r.Streams, r.Speed, r.On, r.Off)
		},
	})
}

func (b *specBench) open(ctx context.Context, args []string, opt hostOptions) (inference.Model, func(), error) {
	home, err := homeDir()
	if err != nil {
		return nil, nil, err
	}
	entry, _, err := resolveLocal(home, args)
	if err != nil {
		return nil, nil, err
	}
	opt.logLevel = "warn"
	opt.cache.disk = "0" // one folder cannot serve both, and writing disturbs
	h, err := newHost(ctx, opt, os.Stderr, entry)
	if err != nil {
		return nil, nil, err
	}
	m, release, err := h.open(ctx, entry.Name)
	if err != nil {
		h.close()
		return nil, nil, err
	}
	return m, func() { release(); h.close() }, nil
}

func (r *specReport) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.Rows) > 0 {
		fmt.Fprintln(w, "CONTEXT\tROWS\tSTEP\tWON AT MOST")
		for _, c := range r.Rows {
			fmt.Fprintf(w, "%d\t%d\t%.1f ms\t%.2f\n", c.Context, c.Rows, c.MS, c.Won)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "TASK\tAT ONCE\tTOKENS/S\tOFF\tRATIO\tGUESSES\tRIGHT\tSAME TEXT")
	for _, t := range r.Tasks {
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%v\t%d\t%d of %d tokens\t%d of %d\n", t.Task, t.Streams, t.On, t.Off, t.Speed, t.Drafted, t.Accepted, t.Tokens, t.Same, t.Answers)
	}
	return w.Flush()
}
