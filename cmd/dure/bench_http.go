package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"dure/inference"
	"dure/inference/bench"
	"dure/inference/front"
	"dure/inference/openai"
	"dure/inference/remote"
)

// maxModelTokens leaves room for the prompt in the sequences of the real model.
const maxModelTokens = 192

// httpBar is how many microseconds of CPU a streamed token may cost the server.
const httpBar = 40

type httpOptions struct {
	streams, tokens, modelTokens int
	interval                     time.Duration
	model                        string
	bare                         bool
	asJSON                       bool
}

func benchHTTPCommand() *cobra.Command {
	var opt httpOptions
	cmd := &cobra.Command{
		Use:   "http [MODEL]",
		Short: "Measure the CPU time that the server spends on each streamed token",
		Long: `Stream many answers at once and count the CPU time of the server's process alone: reading
the requests, passing the tokens on, encoding and sending them, each as an event of its
own. First a process with the whole of the HTTP side and a scripted model, whose tokens
come for all streams at the same moment; then a server with a real model, where the
tokens come over the socket of its runner. Clients are in the measuring process.`,
		Example: "  dure bench http\n  dure bench http --bare --streams 64",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opt.model = args[0]
			}
			return benchHTTP(cmd, opt)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.streams, "streams", 32, "streams at the same time")
	f.IntVar(&opt.tokens, "tokens", 500, "tokens of each stream of the scripted model")
	f.IntVar(&opt.modelTokens, "model-tokens", 192, "tokens of each stream of the real model")
	f.DurationVar(&opt.interval, "interval", 20*time.Millisecond, "time between two tokens of a stream of the scripted model")
	f.BoolVar(&opt.bare, "bare", false, "the scripted model only")
	f.BoolVar(&opt.asJSON, "json", false, "print JSON")
	return cmd
}

// httpRow is one line of the table.
type httpRow struct {
	What    string  `json:"what"`
	Streams int     `json:"streams"`
	Tokens  int     `json:"tokens"`
	CPU     float64 `json:"cpu_us_per_token"`
	Bar     float64 `json:"bar,omitempty"`
}

func benchHTTP(cmd *cobra.Command, opt httpOptions) error {
	if opt.modelTokens > maxModelTokens {
		return fmt.Errorf("--model-tokens %d: at most %d", opt.modelTokens, maxModelTokens)
	}
	if opt.streams < 1 || opt.tokens < 2 || opt.modelTokens < 2 || opt.interval <= 0 {
		return errors.New("--streams and --interval must be positive, --tokens and --model-tokens at least 2")
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	row, err := opt.scripted(ctx)
	if err != nil {
		return err
	}
	rows := []httpRow{row}
	if !opt.bare {
		if row, err = opt.real(ctx); err != nil {
			return err
		}
		rows = append(rows, row)
	}
	out := cmd.OutOrStdout()
	if opt.asJSON {
		return json.NewEncoder(out).Encode(rows)
	}
	for _, r := range rows {
		bar := ""
		if r.Bar > 0 {
			bar = fmt.Sprintf("  (bar %.0f)", r.Bar)
		}
		fmt.Fprintf(out, "%-46s %4d streams %6d tokens  %6.1f us of CPU a token%s\n", r.What, r.Streams, r.Tokens, r.CPU, bar)
	}
	return nil
}

// scripted measures a process with nothing but the HTTP side.
func (o *httpOptions) scripted(ctx context.Context) (httpRow, error) {
	row := httpRow{What: "HTTP, parse and encode, scripted model", Streams: o.streams, Tokens: o.streams * o.tokens, Bar: httpBar}
	self, err := os.Executable()
	if err != nil {
		return row, err
	}
	cmd := exec.CommandContext(ctx, self, "bench", "http-server", o.interval.String())
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return row, err
	}
	if err := cmd.Start(); err != nil {
		return row, err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return row, fmt.Errorf("the process of the HTTP side did not start: %w", err)
	}
	m := remote.New(strings.TrimSpace(url), "", "", http.DefaultClient)
	row.CPU, err = o.perToken(ctx, m, o.tokens, cmd.Process.Pid)
	return row, err
}

// real measures the process of a server with a model, which runs in another.
func (o *httpOptions) real(ctx context.Context) (httpRow, error) {
	row := httpRow{What: "the server's process, tokens of a real model", Streams: o.streams, Tokens: o.streams * o.modelTokens, Bar: httpBar}
	s, err := startDure(ctx, serverShape{model: o.model, context: 256, sequences: o.streams}, "")
	if err != nil {
		return row, err
	}
	defer s.stop()
	row.CPU, err = o.perToken(ctx, remote.New(s.url, "", "", http.DefaultClient), o.modelTokens, s.cmd.Process.Pid)
	return row, err
}

// perToken streams n tokens in each of the streams and returns the CPU time of a process
// a token, in microseconds. A first round of a few tokens is not counted: it opens the
// connections and warms everything.
func (o *httpOptions) perToken(ctx context.Context, m inference.Model, n, pid int) (float64, error) {
	every := func(string) bool { return true }
	if err := o.stream(ctx, m, 2); err != nil {
		return 0, err
	}
	before, err := bench.CPUTime(pid, every)
	if err != nil {
		return 0, err
	}
	if err := o.stream(ctx, m, n); err != nil {
		return 0, err
	}
	after, err := bench.CPUTime(pid, every)
	return float64((after - before).Microseconds()) / float64(n*o.streams), err
}

func (o *httpOptions) stream(ctx context.Context, m inference.Model, n int) error {
	errs := make([]error, o.streams)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = bench.Generate(ctx, m, fmt.Sprintf("Count to %d.", i+100), n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// benchHTTPServerCommand is the process with the HTTP side. It ends when it is killed.
func benchHTTPServerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "http-server INTERVAL", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			interval, err := time.ParseDuration(args[0])
			if err != nil {
				return err
			}
			runtime.GOMAXPROCS(1) // as serve has it where the engine computes on all cores
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
			responses := openai.NewResponses(nil, log)
			defer responses.Close()
			srv := front.NewServer(front.New(front.Options{
				Models: newMetronome(cmd.Context(), interval), Surfaces: []front.Surface{openai.Surface(responses)}, Log: log, Registry: registry,
			}), log)
			crowd := front.NewCrowd(0, log, registry)
			crowd.Watch(srv)
			fmt.Fprintf(cmd.OutOrStdout(), "http://%s/v1\n", l.Addr())
			return srv.Serve(crowd.Listen(l, false))
		},
	}
}

// metronome is a catalogue of one model, whose answers all get their next token at the
// same moment, as those of an engine's step do.
type metronome struct {
	mu   sync.Mutex
	tick chan struct{} // closed at the next one
}

func newMetronome(ctx context.Context, interval time.Duration) *metronome {
	m := &metronome{tick: make(chan struct{})}
	go func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				m.mu.Lock()
				close(m.tick)
				m.tick = make(chan struct{})
				m.mu.Unlock()
			case <-ctx.Done():
				return
			}
		}
	}()
	return m
}

func (m *metronome) next() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tick
}

// List implements front.Models.
func (m *metronome) List() []front.Listing {
	return []front.Listing{{Name: "metronome", OwnedBy: "dure", Default: true, Loaded: true, Context: 1 << 20, Params: inference.DefaultParams()}}
}

// Open implements front.Models.
func (m *metronome) Open(context.Context, string, time.Duration) (inference.Model, func(), error) {
	return m, func() {}, nil
}

// Info implements inference.Model.
func (m *metronome) Info() inference.Info { return inference.Info{Name: "metronome", Sequences: 1} }

// Generate implements inference.Model: as many tokens as the request allows.
func (m *metronome) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		usage := inference.Usage{PromptTokens: 9}
		if !yield(inference.Event{Kind: inference.EventStarted, Usage: &usage}, nil) {
			return
		}
		for range req.Params.MaxTokens {
			select {
			case <-m.next():
			case <-ctx.Done():
				yield(inference.Event{}, ctx.Err())
				return
			}
			usage.CompletionTokens++
			if !yield(inference.Event{Kind: inference.EventText, Text: " token"}, nil) {
				return
			}
		}
		yield(inference.Event{Kind: inference.EventDone, Finish: inference.FinishLength, Usage: &usage}, nil)
	}
}
