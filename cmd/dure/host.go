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

	"dure/inference/catalog"
	"dure/inference/device"
	"dure/inference/engine"
	"dure/inference/fetch"
	"dure/inference/llm"
	"dure/inference/pool"
	"dure/inference/runner"
)

// hostOptions say how models are hosted on this machine.
type hostOptions struct {
	engine                    string // variant, "" = choose
	context, sequences, queue int    // 0 = the catalogue's value, or derived
	threads                   int    // 0 = one for each physical core
	flash                     string
	logLevel                  string
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
	show    *progress // of loads

	mu    sync.Mutex
	notes map[string][]string // what each load derived
}

// newHost finds an engine that starts. Models given as paths in extra are added
// to the catalogue.
func newHost(ctx context.Context, opt hostOptions, stderr io.Writer, extra ...catalog.Entry) (*host, error) {
	home, err := homeDir()
	if err != nil {
		return nil, err
	}
	h := &host{home: home, opt: opt, log: newLogger(stderr, opt.logLevel), report: device.Here(libraryDirs()), show: newProgress(os.Stderr), notes: map[string][]string{}}
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
	h.pool = pool.New(h.catalog.Names(), h.start, h.log)
	return h, nil
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
func (h *host) start(ctx context.Context, name string) (pool.Runner, error) {
	entry, _ := h.catalog.Find(name)
	path, ok := catalog.Local(h.home, entry)
	if !ok {
		return nil, loadError("model %s is not on this machine; run `dure pull %s`", name, name)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, loadError("model %s: %v", name, err)
	}
	layers, kvBytes, note := h.engine.place(info.Size(), device.Here(libraryDirs()).Memory)
	if note != "" {
		h.log.Warn("placement", "model", name, "note", note)
	}
	if kvBytes == 0 {
		return nil, loadError("model %s needs %s and room to work in, but only %s of memory are free; close other programs or take a smaller model",
			name, size(info.Size()), size(int64(h.report.Memory.Usable())))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c, err := runner.Start(ctx, runner.Options{
		Command: []string{self, "runner"}, Env: os.Environ(), Stderr: os.Stderr, Log: h.log,
		Progress: func(p float32) {
			h.show.show(fetch.Progress{Step: "load", Name: name, Done: int64(float64(p) * float64(info.Size())), Total: info.Size()})
		},
		Config: runner.Config{
			EngineDir: h.engine.Set.Lib(), ModelPath: path, GPULayers: layers, MemoryBytes: kvBytes,
			LogLevel: h.opt.logLevel, LLM: h.llmConfig(entry),
		},
	})
	h.show.end()
	if err != nil {
		return nil, err // not c: a nil *Client in the interface would not be nil
	}
	h.mu.Lock()
	h.notes[name] = c.Notes()
	h.mu.Unlock()
	return c, nil
}

func (h *host) llmConfig(e catalog.Entry) llm.Config {
	cfg := llm.Config{
		Name: e.Name, Context: e.Defaults.Context, Sequences: e.Defaults.Sequences, Queue: h.opt.queue,
		Threads: h.threads(), Poll: defaultPoll, FlashAttention: engine.FlashAttention(h.opt.flash),
	}
	if h.opt.context > 0 {
		cfg.Context = h.opt.context
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

func (h *host) close() { h.pool.Close() }

var errNoModel = errors.New("the model is not on this machine")

// resolveLocal finds the model that the arguments name and its file. One that is
// not on this machine is a plain error, with the fix, before anything is started.
func resolveLocal(home string, args []string) (entry catalog.Entry, path string, err error) {
	if entry, err = resolve(home, args); err != nil {
		return entry, "", err
	}
	path, ok := catalog.Local(home, entry)
	if !ok {
		return entry, "", fmt.Errorf("%w: %s; run `dure pull %s`", errNoModel, entry.Name, entry.Name)
	}
	return entry, path, nil
}
