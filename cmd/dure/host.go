package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"dure/inference"
	"dure/inference/catalog"
	"dure/inference/device"
	"dure/inference/engine"
	"dure/inference/fetch"
	"dure/inference/llm"
	"dure/inference/pool"
	"dure/inference/pool/arbiter"
	"dure/inference/runner"
)

// hostOptions say how models are hosted on this machine.
type hostOptions struct {
	engine           string // variant, "" = choose
	context          tokenCount
	sequences, queue int // 0 = the catalogue's value, or derived; context too
	threads          int // 0 = one for each physical core
	flash            string
	load             loadOptions
	cache            cacheOptions
	pool             poolOptions
	logLevel         string
}

// host wires catalogue, engine and runners into a pool of models.
type host struct {
	home    string
	opt     hostOptions
	log     *slog.Logger
	catalog *catalog.Catalog
	engine  startedEngine
	report  device.Report
	pool    *pool.Pool
	// turns on the devices are handed out by it; nil where nobody asked for slices.
	turns *arbiter.Arbiter
	show  *progress // of loads
	// cards is the one reader of the devices: starting a driver's library is slow.
	cards *device.Reader
	// opening is the model whose failure to load is told by the command itself.
	opening atomic.Pointer[string]

	mu     sync.Mutex
	notes  map[string][]string // what each load derived
	placed map[string]placement

	measured *measured
}

// newHost finds an engine that starts. Models given as paths in extra are added
// to the catalogue.
func newHost(ctx context.Context, opt hostOptions, stderr io.Writer, extra ...catalog.Entry) (*host, error) {
	home, err := homeDir()
	if err != nil {
		return nil, err
	}
	h := &host{home: home, opt: opt, log: newLogger(stderr, opt.logLevel), report: device.Here(libraryDirs()), show: newProgress(os.Stderr), cards: device.NewReader(libraryDirs()), notes: map[string][]string{}, placed: map[string]placement{}}
	if h.catalog, err = openCatalog(home); err != nil {
		return nil, err
	}
	h.catalog.Entries = withEntries(h.catalog.Entries, extra)
	for _, p := range h.report.Problems {
		h.log.Warn("machine", "problem", p.What, "fix", p.Fix)
	}
	h.engine, err = selectEngine(ctx, home, wish(opt.engine), h.report, openSet, h.log)
	if err != nil {
		return nil, fmt.Errorf("%w\nno engine is ready: run `%s`, then try again (`dure doctor` tells more)", err, installCommand(wish(opt.engine)))
	}
	if h.measured, err = openMeasured(home, h.engine.key()); err != nil {
		h.log.Warn("plan", "error", err)
	}
	specs, err := h.poolSpecs()
	if err != nil {
		return nil, err
	}
	if opt.pool.slice > 0 {
		if h.turns, err = arbiter.New(arbiter.Rules{Slice: opt.pool.slice}, h.log); err != nil {
			return nil, err
		}
	}
	h.pool = pool.New(opt.pool.rules(), specs, h.start, slog.New(toldElsewhere{h.log.Handler(), &h.opening}))
	return h, nil
}

// open opens a model for the command itself, which ends with the error if there is
// one: the pool then does not log it too.
func (h *host) open(ctx context.Context, name string) (inference.Model, func(), error) {
	h.opening.Store(&name)
	m, release, err := h.pool.Open(ctx, name, 0)
	if err == nil { // the pool logs after it has answered
		h.opening.Store(nil)
	}
	return m, release, err
}

// toldElsewhere leaves out the errors of one model, which are told otherwise.
type toldElsewhere struct {
	slog.Handler
	model *atomic.Pointer[string]
}

// Handle implements slog.Handler.
func (t toldElsewhere) Handle(ctx context.Context, r slog.Record) error {
	about := false
	if name := t.model.Load(); name != nil && r.Level >= slog.LevelError {
		r.Attrs(func(a slog.Attr) bool {
			about = about || a.Key == "model" && a.Value.String() == *name
			return !about
		})
	}
	if about {
		return nil
	}
	return t.Handler.Handle(ctx, r)
}

// withEntries adds entries; one of a name that is taken replaces the other,
// since the user has asked for that very file.
func withEntries(entries, extra []catalog.Entry) []catalog.Entry {
	for _, e := range extra {
		same := func(o catalog.Entry) bool { return o.Name == e.Name }
		if i := slices.IndexFunc(entries, same); i >= 0 {
			entries[i] = e
		} else {
			entries = append(entries, e)
		}
	}
	return entries
}

// start loads a model in a runner: what pool.Start wants.
func (h *host) start(ctx context.Context, name string, shrink int) (pool.Runner, int64, error) {
	entry, _ := h.catalog.Find(name)
	path, ok := catalog.Local(h.home, entry)
	if !ok {
		return nil, 0, loadError("model %s is not on this machine; %s", name, entry.HowToGet())
	}
	p, err := h.place(ctx, entry, path, shrink)
	if err != nil {
		return nil, 0, noRoom(err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	var line *os.File
	if h.turns != nil {
		if line, err = h.turns.Join(name, p.devices()); err != nil {
			return nil, 0, err
		}
	}
	before := h.lookAtCards(ctx, p)
	c, err := runner.Start(ctx, runner.Options{
		Command: []string{self, "runner"}, Env: os.Environ(), Stderr: os.Stderr, Log: h.log,
		Progress: func(done float32) {
			h.show.show(fetch.Progress{Step: "load", Name: name, Done: int64(float64(done) * float64(p.bytes)), Total: p.bytes})
		},
		Turns: line,
		Config: runner.Config{
			EngineDir: h.engine.Set.Lib(), ModelPath: path, GPULayers: p.layers, MemoryBytes: p.memory,
			LogLevel: h.opt.logLevel, LLM: p.llm, Embed: p.embed, DraftPath: p.draft.path, DraftLayers: p.draft.layers,
		},
	})
	h.show.end()
	if err != nil {
		return nil, 0, noRoom(err) // not c: a nil *Client in the interface would not be nil
	}
	p.pid, p.before = c.PID(), before
	h.loaded(ctx, name, p, c)
	return c, p.takes(), nil
}

// loaded keeps what a load derived, and compares the plan with what the engine
// really took.
func (h *host) loaded(ctx context.Context, name string, p placement, c *runner.Client) {
	h.mu.Lock()
	h.placed[name] = p // its process is ours when the cards are looked at
	h.mu.Unlock()
	p.driver = readDriver(p, h.lookAtCards(ctx, p))
	h.mu.Lock()
	h.notes[name] = append(p.notes(), c.Notes()...)
	h.placed[name] = p
	h.mu.Unlock()
	stats, err := c.Stats(ctx)
	if err != nil || p.plan == nil || stats.Memory == nil {
		return // it is lost already, or there is nothing to compare
	}
	for _, d := range p.verify(stats.Memory) {
		h.log.Warn("memory is not as planned", "model", name, "device", d.Device, "item", d.Item,
			"planned", size(int64(d.Planned)), "measured", size(int64(d.Measured)))
	}
	for _, m := range p.measurements(stats.Memory) {
		if err := h.measured.add(p.model, m); err != nil {
			h.log.Warn("measured sizes are not kept", "error", err)
		}
	}
}

// compare puts a loaded model's plan beside what the engine holds.
func (h *host) compare(name string, memory []llm.Memory) []deviation {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.placed[name]; p.plan != nil && memory != nil {
		return p.compare(memory)
	}
	return nil
}

// cacheOf says how a loaded model keeps keys and values; empty for one that keeps none.
func (h *host) cacheOf(name string) (keys, values, loss string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.placed[name]
	if p.embed != nil || p.loss == "" {
		return "", "", ""
	}
	return p.llm.KeyType, p.llm.ValueType, p.loss
}

func (h *host) llmConfig(e catalog.Entry) llm.Config {
	cfg := llm.Config{
		Name: e.Name, Context: e.Defaults.Context, Sequences: e.Defaults.Sequences, Queue: h.opt.queue,
		Threads: h.threads(), Poll: defaultPoll, FlashAttention: engine.FlashAttention(h.opt.flash), Gap: h.opt.load.gap,
		Speculation: llm.Speculation(h.opt.load.spec.mode), GuessDepth: h.opt.load.spec.depth,
	}
	cfg.Quiet, _ = h.opt.load.quiet.rule() // checked when the flags were
	if h.opt.context > 0 {
		cfg.Context = int(h.opt.context)
	}
	if h.opt.sequences > 0 {
		cfg.Sequences = h.opt.sequences
	}
	return cfg
}

// threads that compute on the CPU.
func (h *host) threads() int {
	if h.opt.threads > 0 {
		return h.opt.threads
	}
	return h.report.CPU.Threads()
}

// derived is what the last load of a model derived.
func (h *host) derived(name string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notes[name]
}

// localEntries are the models whose files are on this machine.
func (h *host) localEntries() []catalog.Entry {
	var local []catalog.Entry
	for _, e := range h.catalog.Entries {
		if _, ok := catalog.Local(h.home, e); ok {
			local = append(local, e)
		}
	}
	return local
}

func (h *host) close() {
	h.pool.Close()
	if h.turns != nil {
		h.turns.Close()
	}
	if err := h.cards.Close(); err != nil {
		h.log.Warn("devices", "error", err)
	}
}

var errNoModel = errors.New("the model is not on this machine")

// resolveLocal finds the model that the arguments name and its file. One that is
// not on this machine is a plain error, with the fix, before anything is started.
func resolveLocal(home string, args []string) (entry catalog.Entry, path string, err error) {
	if entry, err = resolve(home, args); err != nil {
		return entry, "", err
	}
	if entry.Remote() {
		return entry, "", fmt.Errorf("%w: %s runs on another server, which dure does not pass requests to yet", errNoModel, entry.Name)
	}
	path, ok := catalog.Local(home, entry)
	if !ok {
		return entry, "", fmt.Errorf("%w: %s; %s", errNoModel, entry.Name, entry.HowToGet())
	}
	return entry, path, nil
}
