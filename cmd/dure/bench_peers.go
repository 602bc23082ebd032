package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/gguf/synth"
	"dure/inference/bench/swarm"
	"dure/inference/device"
	"dure/inference/fetch"
	"dure/inference/library"
	"dure/kvcache/codec"
)

type peersOptions struct {
	agents, turns     int
	sharedTokens      int
	crowd, pool       int // agents on a pool of so many sequences
	streams           int
	gap               time.Duration
	promptTokens      int
	context           tokenCount
	active            int
	pairs             int
	repeat, threads   int
	seed              uint64
	models, scenarios []string
	pools             []string
	class             string
	asJSON            bool
}

func benchPeersCommand() *cobra.Command {
	var opt peersOptions
	opt.context = 8192
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "Run teams of agents against dure and llama-server in turn and compare",
		Long: `Start dure and llama-server in turn, on the same library files and model, each fresh
and warmed up, and run the same load against them: a team of agents, a crowd on a
small pool, a long prompt beside running streams, an agent that comes back, one agent
alone, many streams. One table holds the medians, the median of dure's ratio to the
better llama-server, repetition by repetition, and whether the bar holds. Nothing
else should compute meanwhile. llama-server comes from ` + "`make engine-source`" + `.`,
		Example: "  dure bench peers --repeat 1 --agents 4 --turns 2 --models smollm2-135m --scenarios swarm",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return benchPeers(cmd, opt) },
	}
	f := cmd.Flags()
	f.IntVar(&opt.agents, "agents", 16, "agents of the team")
	f.IntVar(&opt.turns, "turns", 6, "turns of each agent")
	f.IntVar(&opt.sharedTokens, "shared-tokens", 2000, "tokens of the system prompt that the team shares")
	f.IntVar(&opt.crowd, "crowd", 64, "agents on a small pool")
	f.IntVar(&opt.pool, "pool", 8, "sequences of the small pool")
	f.IntVar(&opt.streams, "streams", 8, "streams beside the long prompt")
	f.StringSliceVar(&opt.pools, "pools", peerPools, "how llama-server keeps its cells")
	f.DurationVar(&opt.gap, "gap", time.Second, "how long dure is told that they may stand still meanwhile")
	f.IntVar(&opt.promptTokens, "prompt-tokens", 7000, "tokens of the long prompt")
	f.Var(&opt.context, "context", "tokens of each sequence")
	f.IntVar(&opt.active, "active", 64, "streams beside llama-batched-bench")
	f.IntVar(&opt.pairs, "pairs", 15, "pairs of one agent alone")
	f.IntVar(&opt.repeat, "repeat", 3, "repetitions of everything else")
	f.IntVar(&opt.threads, "threads", 0, "compute threads; 0 = one for each physical core")
	f.Uint64Var(&opt.seed, "seed", 1, "which text")
	f.StringSliceVar(&opt.models, "models", []string{"smollm2-135m", synthModel}, "models: names, paths, or "+synthModel+" for a synthetic one of 120 million parameters")
	f.StringSliceVar(&opt.scenarios, "scenarios", scenarioNames(), "what to run")
	f.StringVar(&opt.class, "class", codec.Small.String(), "quality class on disk of the scenario "+parkedScenario+"; its loss is not judged here (dure bench kv does)")
	f.BoolVar(&opt.asJSON, "json", false, "print JSON")
	return cmd
}

// synthModel stands for the synthetic hybrid.
const synthModel = "synth-qwen35"

func (o peersOptions) validate() error {
	for _, n := range []struct {
		flag  string
		value int
	}{{"agents", o.agents}, {"turns", o.turns}, {"crowd", o.crowd}, {"pool", o.pool}, {"streams", o.streams}, {"prompt-tokens", o.promptTokens},
		{"context", int(o.context)}, {"active", o.active}, {"pairs", o.pairs}, {"repeat", o.repeat}} {
		if n.value < 1 {
			return fmt.Errorf("--%s %d: must be positive", n.flag, n.value)
		}
	}
	for _, s := range o.scenarios {
		if !slices.Contains(scenarioNames(), s) {
			return fmt.Errorf("--scenarios %q: there are %s", s, strings.Join(scenarioNames(), ", "))
		}
	}
	for _, p := range o.pools {
		if !slices.Contains(peerPools, p) {
			return fmt.Errorf("--pools %q: there are %s", p, strings.Join(peerPools, ", "))
		}
	}
	if _, err := codec.ParseClass(o.class); err != nil {
		return fmt.Errorf("--class: %w", err)
	}
	if o.gap < time.Millisecond {
		return fmt.Errorf("--gap %v: must be at least 1ms", o.gap)
	}
	return nil
}

// peersRig is what all measurements beside llama-server share.
type peersRig struct {
	opt    peersOptions
	engine startedEngine
	peers  library.Set
	home   string
	work   string // a folder of the rig's own under home
	log    io.Writer
	table  peersTable
}

func benchPeers(cmd *cobra.Command, opt peersOptions) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	if err := opt.validate(); err != nil {
		return err
	}
	rig, err := newPeersRig(ctx, opt)
	if err != nil {
		return err
	}
	defer os.RemoveAll(rig.work)
	err = rig.all(ctx)
	// What was measured is printed also where the rest failed.
	if opt.asJSON {
		return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(rig.table))
	}
	rig.table.print(cmd.OutOrStdout())
	return err
}

func newPeersRig(ctx context.Context, opt peersOptions) (*peersRig, error) {
	home, err := homeDir()
	if err != nil {
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
	if e.gpu() != nil {
		return nil, fmt.Errorf("the engine %s computes on a card; the bars are for cores: set %s=cpu", e.Variant, envEngine)
	}
	peers, err := library.Open(home, library.SourceCPU)
	if err != nil {
		return nil, fmt.Errorf("peer tools: %w; build them with `make engine-source`", err)
	}
	work, err := os.MkdirTemp(home, "bench-")
	if err != nil {
		return nil, fmt.Errorf("folder for the measurement: %w", err)
	}
	r := &peersRig{opt: opt, engine: e, peers: peers, home: home, work: work, log: os.Stderr}
	r.table.Machine = fmt.Sprintf("%s, %d usable cores, %d compute threads, engine %s", report.CPU.Model, report.CPU.Usable, opt.threads, e.Variant)
	r.table.Seed, r.table.Repeat = opt.seed, opt.repeat
	fmt.Fprintf(r.log, "%s, libraries in %s\n", r.table.Machine, e.Set.Lib())
	return r, nil
}

// peersModel is a model file that all sides serve.
type peersModel struct{ name, path string }

func (r *peersRig) model(name string) (peersModel, error) {
	if name != synthModel {
		entry, path, err := resolveLocal(r.home, []string{name})
		if err != nil {
			return peersModel{}, err
		}
		path, err = filepath.Abs(path)
		return peersModel{entry.Name, path}, err
	}
	path := filepath.Join(r.work, synthModel+".gguf")
	f, err := os.Create(path)
	if err != nil {
		return peersModel{}, fmt.Errorf("synthetic model: %w", err)
	}
	if err := errors.Join(synth.Qwen35(f, synth.HybridShape()), f.Close()); err != nil {
		return peersModel{}, fmt.Errorf("synthetic model: %w", err)
	}
	return peersModel{synthModel, path}, nil
}

// freshHome is a home of dure's own with nothing kept from earlier runs, but
// with engines and models. remove takes it away.
func (r *peersRig) freshHome() (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp(r.work, "home-"); err != nil {
		return "", nil, fmt.Errorf("folder for a server: %w", err)
	}
	remove = func() { os.RemoveAll(dir) }
	for _, name := range []string{"engine", "models", "models.yaml"} {
		from := filepath.Join(r.home, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Symlink(from, filepath.Join(dir, name)); err != nil {
			remove()
			return "", nil, fmt.Errorf("folder for a server: %w", err)
		}
	}
	return dir, remove, nil
}

// running is a server that is measured.
type running struct {
	endpoint *swarm.Endpoint
	stop     func()
	// restart ends it and starts it again with what it keeps on disk; nil for
	// servers that keep nothing there by themselves.
	restart func(context.Context) (*swarm.Endpoint, error)
	// words are the last that the server printed; nil where they are on our
	// standard error.
	words fmt.Stringer
}

// setting is one way of serving.
type setting struct {
	name  string
	start func(ctx context.Context, shape serverShape) (*running, error)
}

const (
	settingDure    = "dure"
	settingUnified = "llama-server unified"
	settingSplit   = "llama-server split"
)

func (r *peersRig) settings() []setting {
	all := []setting{
		{settingDure, r.startDure},
		{settingUnified, func(ctx context.Context, s serverShape) (*running, error) { return r.startPeer(ctx, s, "--kv-unified") }},
		{settingSplit, func(ctx context.Context, s serverShape) (*running, error) {
			return r.startPeer(ctx, s, "--no-kv-unified")
		}},
	}
	return slices.DeleteFunc(all, func(s setting) bool {
		pool, peer := strings.CutPrefix(s.name, "llama-server ")
		return peer && !slices.Contains(r.opt.pools, pool)
	})
}

// peerPools are the ways in which llama-server is tried.
var peerPools = []string{"unified", "split"}

func (r *peersRig) startDure(ctx context.Context, shape serverShape) (*running, error) {
	home, remove, err := r.freshHome()
	if err != nil {
		return nil, err
	}
	var server *benchServer
	run := &running{}
	start := func(ctx context.Context) (_ *swarm.Endpoint, err error) {
		if server, err = startDure(ctx, shape, home); err != nil {
			return nil, err
		}
		return warmed(ctx, server.url)
	}
	run.stop = func() {
		if server != nil {
			server.stop()
		}
		remove()
	}
	run.restart = func(ctx context.Context) (*swarm.Endpoint, error) {
		server.stop()
		return start(ctx)
	}
	if run.endpoint, err = start(ctx); err != nil {
		run.stop()
		return nil, err
	}
	return run, nil
}

func (r *peersRig) startPeer(ctx context.Context, shape serverShape, flags ...string) (*running, error) {
	server, err := startLlamaServer(ctx, r.peer, shape, flags...)
	if err != nil {
		return nil, err
	}
	e, err := warmed(ctx, server.url)
	if err != nil {
		server.stop()
		return nil, err
	}
	return &running{endpoint: e, stop: server.stop, words: server.log}, nil
}

func (r *peersRig) peer(tool string, args ...string) (fetch.Process, error) {
	p, err := r.peers.Peer(tool, r.engine.Set)
	p.Args = args
	return p, err
}

func warmed(ctx context.Context, url string) (*swarm.Endpoint, error) {
	e, err := swarm.Connect(ctx, swarm.Options{URL: url})
	if err != nil {
		return nil, err
	}
	return e, e.Warm(ctx)
}
