package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"dure/inference/bench/swarm"
)

// endpointOptions say which server is measured.
type endpointOptions struct {
	url, key, model string
	dure            bool
	stall, limit    time.Duration
	asJSON          bool
}

func (o *endpointOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "http://"+defaultAddr+"/v1", "the server, up to /v1")
	f.StringVar(&o.key, "key", "", "key to present, if the server wants one")
	f.StringVar(&o.model, "model", "", "model to ask for; empty: the server's default")
	f.BoolVar(&o.dure, "dure", false, "send dure's own fields also where the server does not say that it is dure")
	f.DurationVar(&o.stall, "stall", 10*time.Minute, "give a request up when nothing arrives for so long")
	f.DurationVar(&o.limit, "time-limit", time.Hour, "end after so long and print what there is")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
}

// connect looks at the server. The context ends with Ctrl-C or the time limit.
func (o *endpointOptions) connect(cmd *cobra.Command) (context.Context, context.CancelFunc, *swarm.Endpoint, error) {
	ctx, stop := interruptible(cmd)
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	end := func() { cancel(); stop() }
	if o.stall <= 0 || o.limit <= 0 {
		end()
		return nil, nil, nil, errors.New("--stall and --time-limit must be positive")
	}
	so := swarm.Options{URL: o.url, Key: o.key, Model: o.model, Stall: o.stall}
	if o.dure {
		so.Kind = swarm.Dure
	}
	e, err := swarm.Connect(ctx, so)
	if err != nil {
		end()
		return nil, nil, nil, fmt.Errorf("%w; start a server, or name one with --url", err)
	}
	return ctx, end, e, nil
}

func benchSwarmCommand() *cobra.Command {
	var opt endpointOptions
	shape := swarm.DefaultShape()
	start := "together"
	cmd := &cobra.Command{
		Use:   "swarm",
		Short: "Have a team of agents work against any OpenAI-compatible server and measure it",
		Long: `Have a team of agents work against an OpenAI-compatible server. All share a system
prompt; each gets a task, answers, waits for a tool and reads its result, turn by
turn. The text follows from the seed. Printed are the time it took, how many prompt
tokens were read and how many had to be, times to the first token, gaps between
tokens, and errors by kind. Ctrl-C prints what there is.`,
		Example: "  dure bench swarm --agents 4 --turns 2\n  dure bench swarm --url http://127.0.0.1:8080/v1 --agents 16 --turns 6",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch start {
			case "together", "staggered":
				shape.Staggered = start == "staggered"
			default:
				return fmt.Errorf("--start %q: must be together or staggered", start)
			}
			return benchSwarm(cmd, opt, shape)
		},
	}
	opt.register(cmd)
	f := cmd.Flags()
	f.IntVar(&shape.Agents, "agents", shape.Agents, "agents")
	f.IntVar(&shape.Turns, "turns", shape.Turns, "turns of each agent")
	f.IntVar(&shape.SharedTokens, "shared-tokens", shape.SharedTokens, "tokens of the system prompt that all share")
	f.IntVar(&shape.TaskWords, "task-words", shape.TaskWords, "words of an agent's task")
	f.IntVar(&shape.ResultWords, "result-words", shape.ResultWords, "words of a tool's result")
	f.IntVar(&shape.Output, "output", shape.Output, "tokens of an answer")
	f.DurationVar(&shape.ToolWait, "tool-wait", shape.ToolWait, "how long a tool takes")
	f.StringVar(&start, "start", start, "together, or staggered: one agent after another, a tool wait apart")
	f.Uint64Var(&shape.Seed, "seed", shape.Seed, "which text")
	return cmd
}

func benchSwarm(cmd *cobra.Command, opt endpointOptions, shape swarm.Shape) error {
	ctx, end, e, err := opt.connect(cmd)
	if err != nil {
		return err
	}
	defer end()
	defer e.Close()
	r, err := swarm.Run(ctx, e, shape)
	if r != nil {
		err = errors.Join(err, opt.print(cmd.OutOrStdout(), r, func(w io.Writer) { printSwarm(w, r) }))
		if n := shape.Agents - r.Finished; n > 0 && !r.Interrupted {
			err = errors.Join(err, fmt.Errorf("%d of %d agents did not finish", n, shape.Agents))
		}
	}
	return errors.Join(err, stopped(ctx))
}

// stopped is why a run ended early; nil if it did not.
func stopped(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("the time limit has passed; raise --time-limit")
	}
	return ctx.Err()
}

func (o *endpointOptions) print(w io.Writer, v any, table func(io.Writer)) error {
	if !o.asJSON {
		table(w)
		return nil
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func printSwarm(w io.Writer, r *swarm.Report) {
	s := r.Shape
	fmt.Fprintf(w, "%s, model %s: %d agents x %d turns, %d shared tokens, seed %d\n", r.Server, r.Model, s.Agents, s.Turns, s.SharedTokens, s.Seed)
	if r.Interrupted {
		fmt.Fprintln(w, "interrupted: what follows is about the turns until then")
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-28s"+format+"\n", append([]any{name}, args...)...)
	}
	line("agents finished", "%d of %d, %d turns answered", r.Finished, s.Agents, r.Answered)
	line("wall time", "%.2f s", r.WallSeconds)
	line("prompt tokens", "%s", told(r.Prompt))
	line("  read", "%s", told(r.Read))
	line("  distinct", "%s%s", told(r.Distinct), by(r.DistinctBy))
	line("  distinct without answers", "%s", told(r.Fresh))
	line("  read / distinct", "%s, without answers %s", times(r.ReadRatio()), times(r.FreshRatio()))
	line("tokens out", "%s, %.1f a second", told(r.Completion), r.Rate)
	line("first token, first turn", "%s", spread(r.First))
	line("first token, later turns", "%s", spread(r.Later))
	line("wait, all turns", "max %.0f ms, mean %.0f, max/mean %.2f", r.Wait.Max, r.Wait.Mean, over(r.Wait.Max, r.Wait.Mean))
	line("wait, sum of an agent", "max %.0f ms, mean %.0f, max/mean %.2f", r.AgentWait.Max, r.AgentWait.Mean, over(r.AgentWait.Max, r.AgentWait.Mean))
	line("gap between tokens", "%s", spread(r.Gap))
	line("refused as busy, followed", "%d", r.Refusals)
	if len(r.Errors) == 0 {
		line("errors", "none")
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		line("errors", "%d x %s: %.200s", r.Errors[kind], kind, r.Examples[kind])
	}
}

func told(n *int) string {
	if n == nil {
		return "not told"
	}
	return strconv.Itoa(*n)
}

func by(how string) string {
	if how == "" {
		return ""
	}
	return " (by " + how + ")"
}

func times(ratio float64) string {
	if ratio == 0 {
		return "not known"
	}
	return fmt.Sprintf("%.3f", ratio)
}

// over is a/b; 0 where there was nothing to measure.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func spread(s swarm.Spread) string {
	if s.N == 0 {
		return "none"
	}
	return fmt.Sprintf("p50 %.0f ms, p95 %.0f, p99 %.0f, max %.0f (%d)", s.P50, s.P95, s.P99, s.Max, s.N)
}

func benchGapCommand() *cobra.Command {
	var opt endpointOptions
	shape := swarm.DefaultGapShape()
	cmd := &cobra.Command{
		Use:   "gap",
		Short: "Measure how long running streams stand still while a long prompt is read",
		Long: `Start streams, measure their step, send one long prompt and measure the gaps between
the streams' tokens until its first token; then send another such prompt to the idle
server. The server must take one request more than there are streams, each with room
for the prompt.`,
		Example: "  dure serve --sequences 9 --context 8192 &\n  dure bench gap",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measure(cmd, &opt, printGap, func(ctx context.Context, e *swarm.Endpoint) (*swarm.GapReport, error) {
				return swarm.Gap(ctx, e, shape)
			})
		},
	}
	opt.register(cmd)
	f := cmd.Flags()
	f.IntVar(&shape.Streams, "streams", shape.Streams, "streams that run")
	f.IntVar(&shape.PromptTokens, "prompt-tokens", shape.PromptTokens, "tokens of the prompt")
	f.IntVar(&shape.StreamTokens, "stream-tokens", shape.StreamTokens, "tokens after which a stream ends")
	f.IntVar(&shape.Before, "before", shape.Before, "deliveries of each stream before the prompt comes")
	f.Uint64Var(&shape.Seed, "seed", shape.Seed, "which text")
	return cmd
}

// measure connects, runs one measurement and prints what it gave.
func measure[R any](cmd *cobra.Command, opt *endpointOptions, print func(io.Writer, R),
	run func(context.Context, *swarm.Endpoint) (R, error)) error {
	ctx, end, e, err := opt.connect(cmd)
	if err != nil {
		return err
	}
	defer end()
	defer e.Close()
	r, err := run(ctx, e)
	if err != nil {
		return cmp.Or(stopped(ctx), err)
	}
	return opt.print(cmd.OutOrStdout(), r, func(w io.Writer) { print(w, r) })
}

func printGap(w io.Writer, r *swarm.GapReport) {
	fmt.Fprintf(w, "%s, model %s: %d streams, then a prompt of %s tokens\n", r.Server, r.Model, r.Shape.Streams, told(r.Prompt))
	fmt.Fprintf(w, "  step before               p50 %.1f ms, p99 %.1f (%d)\n", r.Step.P50, r.Step.P99, r.Step.N)
	fmt.Fprintf(w, "  gap while it is read      %s\n", spread(r.Gap))
	fmt.Fprintf(w, "  p99 gap / median step     %.2f\n", r.GapRatio())
	fmt.Fprintf(w, "  the prompt's first token  %.0f ms beside the streams, %.0f alone: %.2f\n", r.Loaded, r.Solo, r.TTFTRatio())
}

func benchResumeCommand() *cobra.Command {
	var opt endpointOptions
	shape := swarm.DefaultResumeShape()
	restart := ""
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Measure how fast an agent with a long prompt is back after others had the machine",
		Long: `Send a long prompt as one agent, then prompts of others that push its state out, then
its next turn, and compare the times to the first token. With --restart-command the
server is started anew before one more turn: the command must return when the new
one listens at the same URL.`,
		Example: "  dure serve --sequences 2 --context 8192 &\n  dure bench resume --others 4",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measure(cmd, &opt, printResume, func(ctx context.Context, e *swarm.Endpoint) (*swarm.ResumeReport, error) {
				return swarm.Resume(ctx, e, shape, opt.restarter(restart, e))
			})
		},
	}
	opt.register(cmd)
	f := cmd.Flags()
	f.IntVar(&shape.PromptTokens, "prompt-tokens", shape.PromptTokens, "tokens of the agent's prompt")
	f.IntVar(&shape.Others, "others", shape.Others, "agents that come meanwhile: more than the server has sequences")
	f.IntVar(&shape.OtherTokens, "other-tokens", shape.OtherTokens, "tokens of each one's prompt")
	f.IntVar(&shape.Output, "output", shape.Output, "tokens of an answer")
	f.IntVar(&shape.ResultWords, "result-words", shape.ResultWords, "words that the agent reads when it is back")
	f.Uint64Var(&shape.Seed, "seed", shape.Seed, "which text")
	f.StringVar(&restart, "restart-command", "", "shell command that starts the server anew")
	return cmd
}

func (o *endpointOptions) restarter(command string, e *swarm.Endpoint) func(context.Context) (*swarm.Endpoint, error) {
	if command == "" {
		return nil
	}
	return func(ctx context.Context) (*swarm.Endpoint, error) {
		sh := exec.CommandContext(ctx, "sh", "-c", command)
		sh.Stdout, sh.Stderr = os.Stderr, os.Stderr
		if err := sh.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w", command, err)
		}
		e.Close()
		fresh, err := swarm.Connect(ctx, swarm.Options{URL: o.url, Key: o.key, Model: e.Model, Kind: e.Kind, Stall: o.stall})
		if err != nil {
			return nil, err
		}
		return fresh, fresh.Warm(ctx)
	}
}

func printResume(w io.Writer, r *swarm.ResumeReport) {
	fmt.Fprintf(w, "%s, model %s: a prompt of %s tokens, %d others between the turns\n", r.Server, r.Model, told(r.Cold.Prompt), r.Shape.Others)
	line := func(name string, t swarm.ResumeTurn) {
		fmt.Fprintf(w, "  %-16s first token %.0f ms, %.3f of the cold one; %s tokens read", name, t.TTFT, r.Ratio(t), told(t.Read))
		if t.Restore > 0 {
			fmt.Fprintf(w, ", restored in %.0f ms", t.Restore)
		}
		fmt.Fprintln(w)
	}
	line("cold", r.Cold)
	line("after the others", r.Parked)
	if r.Disk != nil {
		line("after a restart", *r.Disk)
	}
}
