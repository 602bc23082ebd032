package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"dure/inference/bench"
	"dure/inference/catalog"
	"dure/inference/device"
	"dure/inference/fetch"
	"dure/inference/library"
)

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure dure beside its peers", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(benchEngineCommand(), benchSwarmCommand(), benchGapCommand(), benchResumeCommand(), benchPoolCommand(), benchSwapCommand(), benchSpecCommand(), benchPeersCommand(), benchCardCommand(), benchHTTPCommand(), benchHTTPServerCommand(), benchLoopCommand(), benchCardStepsCommand(), benchSandboxCommand(), benchVCSCommand(), benchLandCommand(), benchBoardCommand(), benchKVCommand(), benchVoiceCommand())
	return cmd
}

type benchOptions struct {
	pairs, threads, streams  int
	prompt, generate, repeat int
	cpuTokens                int
	asJSON                   bool
}

func benchEngineCommand() *cobra.Command {
	var opt benchOptions
	cmd := &cobra.Command{
		Use:   "engine [MODEL]",
		Short: "Compare the engine loop and the server with llama-bench and llama-batched-bench",
		Long: `Run both sides in turn on the same library files and print the median of the
ratios pair by pair. The peer tools come from ` + "`make engine-source`" + `. Nothing else
should compute meanwhile.`,
		Example: "  dure bench engine\n  dure bench engine smollm2-135m --pairs 3",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return benchEngine(cmd, args, opt) },
	}
	f := cmd.Flags()
	f.IntVar(&opt.pairs, "pairs", 15, "pairs of every comparison")
	f.IntVar(&opt.threads, "threads", 0, "compute threads; 0 = one for each physical core")
	f.IntVar(&opt.streams, "streams", 8, "streams at the same time")
	f.IntVar(&opt.prompt, "prompt", 512, "prompt tokens")
	f.IntVar(&opt.generate, "generate", 128, "tokens to generate")
	f.IntVar(&opt.cpuTokens, "cpu-tokens", 512, "tokens over which dure's own CPU time is measured")
	f.IntVar(&opt.repeat, "repeat", 3, "repetitions within each run")
	f.BoolVar(&opt.asJSON, "json", false, "print JSON")
	return cmd
}

// benchRow is one line of the table.
type benchRow struct {
	What  string         `json:"what"`
	Unit  string         `json:"unit"`
	Bar   string         `json:"bar"`
	Pairs *bench.Summary `json:"pairs,omitempty"`
	// Value where there is no peer.
	Value float64 `json:"value,omitempty"`
	A     float64 `json:"dure,omitempty"`
	B     float64 `json:"peer,omitempty"`

	pairs bench.Pairs
}

// benchRig is what all measurements share.
type benchRig struct {
	opt    benchOptions
	home   string
	entry  catalog.Entry
	path   string
	engine startedEngine
	peers  library.Set
	log    io.Writer
}

func benchEngine(cmd *cobra.Command, args []string, opt benchOptions) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	rig, err := newRig(ctx, args, opt)
	if err != nil {
		return err
	}
	fmt.Fprintf(rig.log, "engine %s in %s, %d threads, model %s\n", rig.engine.Variant, rig.engine.Set.Lib(), rig.opt.threads, rig.entry.Name)
	var rows []benchRow
	for _, part := range []func(context.Context) ([]benchRow, error){rig.loopAgainstLlamaBench, rig.streamAgainstLoop, rig.streamsAgainstBatchedBench, rig.startToFirstToken} {
		more, failed := part(ctx)
		rows = append(rows, more...)
		if err = failed; err != nil {
			break // what was measured is printed all the same
		}
	}
	if opt.asJSON {
		return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(rows))
	}
	printRows(cmd.OutOrStdout(), rows)
	return err
}

// newRig finds model, engine and peer tools.
func newRig(ctx context.Context, args []string, opt benchOptions) (*benchRig, error) {
	r, err := newLoneRig(ctx, args, opt)
	if err != nil {
		return nil, err
	}
	if r.peers, err = library.Open(r.home, library.SourceCPU); err != nil {
		return nil, fmt.Errorf("peer tools: %w; build them with `make engine-source`", err)
	}
	return r, nil
}

// newLoneRig is for measurements that have no peer.
func newLoneRig(ctx context.Context, args []string, opt benchOptions) (*benchRig, error) {
	home, err := homeDir()
	if err != nil {
		return nil, err
	}
	entry, path, err := resolveLocal(home, args)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	report := device.Here(libraryDirs())
	if opt.threads == 0 {
		opt.threads = report.CPU.Threads()
	}
	e, err := selectEngine(ctx, home, wish(""), report, openSet, newLogger(os.Stderr, "warn"))
	if err != nil {
		return nil, err
	}
	return &benchRig{opt: opt, home: home, entry: entry, path: path, engine: e, log: os.Stderr}, nil
}

func (r *benchRig) layers() int {
	if r.engine.gpu() != nil {
		return 999
	}
	return 0
}

func (r *benchRig) shape() bench.PeerShape {
	return bench.PeerShape{ModelPath: r.path, Threads: r.opt.threads, GPULayers: r.layers(), Prompt: r.opt.prompt,
		Generate: r.opt.generate, Repetitions: r.opt.repeat, Streams: r.opt.streams}
}

func (r *benchRig) peer(tool string, args ...string) (fetch.Process, error) {
	p, err := r.peers.Peer(tool, r.engine.Set)
	p.Args = args
	return p, err
}

// loop runs the bare loop in a process of its own, as llama-bench is one.
func (r *benchRig) loop(ctx context.Context) (res bench.LoopResult, err error) {
	opt, err := json.Marshal(bench.LoopOptions{
		EngineDir: r.engine.Set.Lib(), ModelPath: r.path, GPULayers: r.layers(), Threads: r.opt.threads, Poll: loopPoll,
		Prompt: r.opt.prompt, Generate: r.opt.generate, Repetitions: r.opt.repeat,
	})
	if err != nil {
		return res, err
	}
	self, err := os.Executable()
	if err != nil {
		return res, err
	}
	cmd := exec.CommandContext(ctx, self, "bench", "loop", string(opt))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return res, fmt.Errorf("bare loop: %w", err)
	}
	return res, json.Unmarshal(out, &res)
}

// loopPoll is llama-bench's own default, so that both sides wait alike.
const loopPoll = 50

func (r *benchRig) say(format string, args ...any) {
	fmt.Fprintf(r.log, format+"\n", args...)
}

func (r *benchRig) loopAgainstLlamaBench(ctx context.Context) (rows []benchRow, err error) {
	var prefill, decode, greedy bench.Pairs
	defer func() {
		rows = keptRows(paired("bare loop, prefill / llama-bench", ">= 0.97", prefill),
			paired("bare loop, decode without sampling / llama-bench", ">= 0.97", decode),
			paired("bare loop, greedy decode / llama-bench", ">= 0.95", greedy))
	}()
	for i := range r.opt.pairs {
		ours, err := r.loop(ctx)
		if err != nil {
			return nil, err
		}
		pp, tg, err := bench.LlamaBench(ctx, r.peer, r.shape())
		if err != nil {
			return nil, err
		}
		prefill.Add(bench.Median(ours.Prefill), pp)
		decode.Add(bench.Median(ours.Decode), tg)
		greedy.Add(bench.Median(ours.Greedy), tg)
		r.say("  bare loop / llama-bench, pair %d of %d: prefill %.3f, decode %.3f, greedy %.3f", i+1, r.opt.pairs,
			last(prefill), last(decode), last(greedy))
	}
	return rows, nil
}

func last(p bench.Pairs) float64 { return p.A[len(p.A)-1] / p.B[len(p.B)-1] }

// paired is the row of what was compared; without a pair an empty one, for keptRows.
func paired(what, bar string, p bench.Pairs) benchRow {
	if len(p.A) == 0 {
		return benchRow{}
	}
	s := p.Summary()
	return benchRow{What: what, Unit: "tokens/s", Bar: bar, Pairs: &s, A: s.A, B: s.B, pairs: p}
}

// keptRows are the rows that hold anything: a measurement that fails half way keeps the
// pairs that it has.
func keptRows(rows ...benchRow) []benchRow {
	return slices.DeleteFunc(rows, func(r benchRow) bool { return r.What == "" })
}

const benchPrompt = "Tell me a long story about a village and its fields."

func (r *benchRig) streamAgainstLoop(ctx context.Context) (rows []benchRow, err error) {
	s, err := r.startServer(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var pairs bench.Pairs
	var cpu []float64
	defer func() {
		rows = keptRows(paired("runner + HTTP stream / bare greedy loop", ">= 0.95", pairs))
		if len(cpu) > 0 {
			rows = append(rows, benchRow{What: "dure's own CPU time a token", Unit: "us", Bar: "<= 150", Value: bench.Median(cpu)})
		}
	}()
	for i := range r.opt.pairs {
		var rates []float64
		for range r.opt.repeat {
			stream, err := bench.Generate(ctx, s.model, benchPrompt, r.opt.generate)
			if err != nil {
				return nil, err
			}
			rates = append(rates, stream.Rate())
		}
		us, err := s.ownCPU(ctx, r.opt.cpuTokens)
		if err != nil {
			return nil, err
		}
		cpu = append(cpu, us)
		ours, err := r.loop(ctx)
		if err != nil {
			return nil, err
		}
		pairs.Add(bench.Median(rates), bench.Median(ours.Greedy))
		r.say("  runner + HTTP / bare loop, pair %d of %d: %.3f, %.0f us of CPU a token", i+1, r.opt.pairs, last(pairs), bench.Median(cpu))
	}
	return rows, nil
}

// mostSpoiled is how many pairs of a row may be taken again.
const mostSpoiled = 3

func (r *benchRig) streamsAgainstBatchedBench(ctx context.Context) (rows []benchRow, err error) {
	s, err := r.startServer(ctx, r.opt.streams)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var prompts []string
	for i := range r.opt.streams {
		prompts = append(prompts, fmt.Sprintf("Story %d. %s", i, benchPrompt))
	}
	shape := r.shape()
	shape.Prompt = 32 // as long as the prompts above are
	var pairs bench.Pairs
	defer func() {
		rows = keptRows(paired(fmt.Sprintf("%d streams / llama-batched-bench", r.opt.streams), ">= 0.95", pairs))
	}()
	for i, spoiled := 0, 0; i < r.opt.pairs; i++ {
		ours, err := bench.GenerateAll(ctx, s.model, prompts, r.opt.generate)
		if errors.Is(err, bench.ErrApart) && spoiled < mostSpoiled {
			spoiled++
			r.say("  %d streams, pair %d of %d is spoiled and taken again: %v", r.opt.streams, i+1, r.opt.pairs, err)
			i--
			continue
		}
		if err != nil {
			return nil, err
		}
		theirs, err := bench.BatchedBench(ctx, r.peer, shape)
		if err != nil {
			return nil, err
		}
		pairs.Add(ours, theirs)
		r.say("  %d streams / llama-batched-bench, pair %d of %d: %.3f", r.opt.streams, i+1, r.opt.pairs, last(pairs))
	}
	return rows, nil
}

func (r *benchRig) startToFirstToken(ctx context.Context) ([]benchRow, error) {
	var seconds []float64
	for range 3 {
		begin := time.Now()
		s, err := r.startServer(ctx, 1)
		if err != nil {
			return nil, err
		}
		stream, err := bench.Generate(ctx, s.model, benchPrompt, 2)
		s.stop()
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, stream.Events[0].Sub(begin).Seconds())
	}
	return []benchRow{{What: "server start to first token", Unit: "s", Bar: "<= 3", Value: bench.Median(seconds)}}, nil
}

func printRows(w io.Writer, rows []benchRow) {
	fmt.Fprintln(w, "| what | ratio or value | bar | dure | peer |\n|---|---|---|---|---|")
	for _, r := range rows {
		if r.Pairs == nil {
			fmt.Fprintf(w, "| %s | %.2f %s | %s | | |\n", r.What, r.Value, r.Unit, r.Bar)
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %s | %.1f %s | %.1f |\n", r.What, r.Pairs, r.Bar, r.A, r.Unit, r.B)
	}
}

// benchLoopCommand is the bare loop as a process of its own.
func benchLoopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "loop OPTIONS", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var opt bench.LoopOptions
			if err := json.Unmarshal([]byte(args[0]), &opt); err != nil {
				return err
			}
			res, err := bench.Loop(cmd.Context(), opt)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(res)
		},
	}
}
