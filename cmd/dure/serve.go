package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"dure/inference"
	"dure/inference/anthropic"
	"dure/inference/catalog"
	"dure/inference/engine"
	"dure/inference/front"
	"dure/inference/library"
	"dure/inference/ollama"
	"dure/inference/openai"
	"dure/inference/openai/memory"
	"dure/inference/team"
)

const (
	defaultAddr = "127.0.0.1:8484"
	// defaultPoll is how eagerly idle compute threads spin between steps: as the
	// engine's own tools do. A thread that sleeps between steps is woken on the
	// core of another one often enough to cost more than it leaves to others.
	defaultPoll = 50
	// shutdownGrace is how long running answers may go on after Ctrl-C.
	shutdownGrace = 5 * time.Second
)

// loadError is a failure to load that a client may read.
func loadError(format string, args ...any) error {
	return inference.Errorf(inference.CodeLoadFailed, format, args...)
}

type serveOptions struct {
	hostOptions
	addr           string
	hosts, origins []string
	door           doorOptions
}

func serveCommand() *cobra.Command {
	var opt serveOptions
	cmd := &cobra.Command{
		Use:   "serve [MODEL]",
		Short: "Serve models over HTTP to any OpenAI client",
		Long: `Serve the models on this machine at http://ADDR/v1. MODEL, a name of the
catalogue or the path of a GGUF file, is loaded at once and answers requests that
name no model; others are loaded when they are first asked for.

On an address other than loopback, clients must present a key: make them with
` + "`dure key add`" + `, or set DURE_API_KEYS to one or more, separated by commas, that may do
everything. --tls serves https with a certificate that dure makes, so that keys and
texts cannot be read on the way; clients trust it by a file that is named at the start.`,
		Example: "  dure serve\n  dure serve --addr 127.0.0.1:9000 --context 4096\n  dure serve ./my-model.gguf\n  dure serve ./my-model.gguf --kv q8_0 --layers 40 --reserve 2GiB\n  dure serve --addr 0.0.0.0:8484 --tls --host my-box.lan",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return serve(cmd, args, opt) },
	}
	opt.register(cmd)
	opt.pool.register(cmd)
	opt.door.register(cmd)
	cmd.Flags().StringVar(&opt.addr, "addr", defaultAddr, "address and port to listen on")
	cmd.Flags().StringSliceVar(&opt.hosts, "host", nil, "further names that a Host header may carry")
	cmd.Flags().StringSliceVar(&opt.origins, "origin", nil, "further origins whose pages may call (https://example.org)")
	return cmd
}

// register declares the flags that hosting models needs.
func (o *hostOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.engine, "engine", "", "engine variant ("+strings.Join(variantNames(), ", ")+"); chosen by itself if empty")
	f.Var(&o.context, "context", "tokens of one request, prompt and answer, for example 64k; 0 = the model's entry, or derived")
	f.IntVar(&o.sequences, "sequences", 0, "requests answered at the same time; 0 = the model's entry, or derived")
	f.IntVar(&o.queue, "queue", 0, "requests that may wait; 0 = 64")
	f.IntVar(&o.threads, "threads", 0, "compute threads on the CPU; 0 = one for each physical core")
	f.StringVar(&o.flash, "flash-attention", string(engine.FlashAuto), "auto, on or off")
	o.load.register(cmd)
	o.cache.register(cmd)
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
}

func (o *hostOptions) validate() error {
	for _, n := range []struct {
		flag  string
		value int
	}{{"context", int(o.context)}, {"sequences", o.sequences}, {"queue", o.queue}, {"threads", o.threads}} {
		if n.value < 0 {
			return fmt.Errorf("--%s %d: must not be negative", n.flag, n.value)
		}
	}
	if _, err := o.load.wish(); err != nil {
		return err
	}
	if err := o.pool.validate(); err != nil {
		return err
	}
	if o.load.yarn && o.context == 0 {
		return errors.New("--yarn is for a context longer than the trained one: name it with --context, for example 512k")
	}
	return checkLevel(o.logLevel)
}

func serve(cmd *cobra.Command, args []string, opt serveOptions) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	if err := errors.Join(opt.validate(), opt.door.validate()); err != nil {
		return err
	}
	home, err := homeDir()
	if err != nil {
		return err
	}
	entry, _, err := resolveLocal(home, args)
	if err != nil {
		return err
	}
	log := newLogger(os.Stderr, opt.logLevel)
	ring, err := opt.door.open(log)
	if err != nil {
		return err
	}
	defer closeRing(ring, log)
	listener, err := listen(opt.addr, ring.Required())
	if err != nil {
		return err
	}
	defer listener.Close()
	pair, err := opt.door.certificate(home, opt.addr, opt.hosts, log)
	if err != nil {
		return err
	}
	h, err := newHost(ctx, opt.hostOptions, os.Stderr, entry)
	if err != nil {
		return err
	}
	defer h.close()
	h.limitProcs()
	return h.serveOn(ctx, entrance{listener, ring, pair}, entry, opt, cmd.OutOrStdout())
}

// listen opens the address. It must be loopback, or keys must protect it.
func listen(addr string, keyed bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("--addr %s: %w; write HOST:PORT, for example %s", addr, err, defaultAddr)
	}
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	if !loopback && !keyed {
		return nil, fmt.Errorf("--addr %s can be reached from other machines: make a key that clients must present with `dure key add NAME` (or set %s to one), or listen on 127.0.0.1", addr, envKeys)
	}
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use, perhaps by another dure; stop that one, or choose another with --addr", addr)
	}
	return l, err
}

// serveOn answers at the entrance until ctx ends, then in order: no new requests,
// running ones get shutdownGrace, then the models are unloaded.
func (h *host) serveOn(ctx context.Context, in entrance, entry catalog.Entry, opt serveOptions, out io.Writer) error {
	closing := make(chan struct{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		modelCollector{h}, poolCollector{h}, deviceCollector{h})
	defer h.watchDevices(ctx)()
	agents := team.New()
	kept, err := memory.Open(h.home, memory.Options{})
	if err != nil {
		return err
	}
	responses := openai.NewResponses(kept, h.log)
	defer responses.Close()
	names, err := openCopies(h.home, h.catalog.Names)
	if err != nil {
		return err
	}
	busy := &inFlight{}
	// The voice process reaches the models as every other client does, over a socket.
	own := front.NewServer(busy, h.log)
	defer own.Close()
	talk := newVoiceHost(h.home, entry.Name, opt.logLevel, h.log, own.Serve)
	defer talk.close()
	registry.MustRegister(voiceCollector{talk})
	chat := openai.Surface(responses)
	busy.Handler = front.New(front.Options{
		Surfaces: []front.Surface{chat, talk.surface(chat.Fail), anthropic.Surface(), ollama.Surface(ollama.Options{Catalogue: newShelf(h, names), Version: buildVersion()})},
		Models:   counted{copied{listed{h, entry.Name}, names}, agents}, Team: teamed{agents}, Cache: h.caches, Pool: pooled{h.pool},
		Log: h.log, Registry: registry, Routes: swarmRoutes(swarmRuns(h.home), closing),
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		Version: "dure-" + buildVersion() + "+llama.cpp-" + library.LlamaVersion,
		Hosts:   opt.hosts, Origins: opt.origins, Keys: keyed{in.ring}, Closing: closing,
	})
	if talk.expected() { // it asks for the models, so that there has to be an answer
		go talk.prepare(ctx)
	}
	srv := front.NewServer(busy, h.log)
	crowd := front.NewCrowd(opt.door.connections, h.log, registry)
	crowd.Watch(srv)
	in.Listener = crowd.Listen(in.Listener, in.cert != nil)
	served := make(chan error, 1)
	go func() { served <- in.serve(srv) }()
	if err := h.preload(ctx, entry, in, out); err != nil {
		srv.Close()
		return err
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	close(closing) // from now on /health says so and new requests are refused
	fmt.Fprintln(out, "\nstopping: running answers get a few seconds; Ctrl-C again ends at once")
	busy.wait(shutdownGrace)
	responses.Close()
	h.close() // ends what still runs, with an error that says so
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		srv.Close()
	}
	return nil
}

// inFlight counts the requests that are being answered.
type inFlight struct {
	http.Handler
	n atomic.Int64
}

// ServeHTTP implements http.Handler.
func (f *inFlight) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.n.Add(1)
	defer f.n.Add(-1)
	f.Handler.ServeHTTP(w, r)
}

// wait returns when none is left, or after the time.
func (f *inFlight) wait(most time.Duration) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(most); f.n.Load() > 0 && time.Now().Before(end); {
		<-tick.C
	}
}

// limitProcs leaves the cores that the engine computes on to it: the server's own
// work is short, and more runtime threads than free cores only disturb it.
func (h *host) limitProcs() {
	if h.engine.gpu() == nil && os.Getenv(envProcs) == "" {
		runtime.GOMAXPROCS(max(1, h.report.CPU.Usable-h.threads()))
	}
}

// preload loads the default model and tells the user where everything is.
func (h *host) preload(ctx context.Context, entry catalog.Entry, in entrance, out io.Writer) error {
	fmt.Fprintf(out, "engine   %s, llama.cpp %s (%s)\n", h.engine.Variant, h.engine.Version, h.engine.Reason)
	for _, s := range h.engine.Skipped {
		fmt.Fprintf(out, "         passed over: %s\n", s)
	}
	fmt.Fprintf(out, "model    %s, loading ...\n", entry.Name)
	m, release, err := h.open(ctx, entry.Name)
	if err != nil {
		return err
	}
	defer release()
	info := m.Info()
	fmt.Fprintf(out, "device   %s, %d compute threads\n", info.Device, h.llmConfig(entry).Threads)
	for _, note := range h.derived(entry.Name) {
		fmt.Fprintf(out, "         %s\n", note)
	}
	in.tell(out)
	return nil
}

// listed is the pool as the HTTP surface wants to see it.
type listed struct {
	h       *host
	primary string // answers requests that name no model
}

// Open implements front.Models.
func (l listed) Open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error) {
	return l.h.pool.Open(ctx, name, keep)
}

// List implements front.Models.
func (l listed) List() []front.Listing {
	loaded := l.h.pool.Loaded()
	var list []front.Listing
	for _, e := range l.h.localEntries() {
		row := front.Listing{
			Name: e.Name, OwnedBy: "dure", Role: strings.Join(e.Roles, ","), Default: e.Name == l.primary,
			Context: l.h.llmConfig(e).Context, Params: e.Defaults.Params(),
		}
		if r, ok := loaded[e.Name]; ok {
			row.Loaded, row.Context = true, r.Info().Context
		}
		list = append(list, row)
	}
	return list
}
