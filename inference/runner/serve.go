package runner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"dure/gguf"
	"dure/inference"
	"dure/inference/embed"
	"dure/inference/engine"
	"dure/inference/llm"
)

// exitGrace is how long the child may take to end in order once its parent is
// gone, with what its sequences hold brought to the disk. A call into the engine
// cannot be interrupted, so after it the process ends as it is.
const exitGrace = llm.SaveGrace + 3*time.Second

// Serve is the child process: it reads its Config from in, loads the model and
// answers until in ends or ctx is cancelled. Failures before it is ready go to
// the parent through status and are returned too. The logger is made from the
// level in the Config.
func Serve(ctx context.Context, in io.Reader, statusTo io.Writer, newLog func(level string) *slog.Logger) error {
	report := json.NewEncoder(statusTo)
	life := bufio.NewReader(in)
	cfg, err := readConfig(life)
	if err != nil {
		return errors.Join(err, report.Encode(status{Error: err.Error()}))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go watchParent(life, cancel, ended)
	defer os.RemoveAll(filepath.Dir(cfg.Socket)) // a killed parent cannot

	c, err := load(ctx, cfg, newLog(cfg.LogLevel), report)
	if err != nil {
		return errors.Join(err, report.Encode(status{Error: err.Error()}))
	}
	defer c.close()
	return c.serve(ctx, cfg.Socket, report)
}

func readConfig(r *bufio.Reader) (Config, error) {
	var cfg Config
	line, err := r.ReadBytes('\n')
	if err != nil {
		return cfg, fmt.Errorf("runner: read configuration: %w (this command is started by the server, not by hand)", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&cfg); err != nil {
		return cfg, fmt.Errorf("runner: configuration: %w", err)
	}
	return cfg, nil
}

// watchParent cancels when the life line ends.
func watchParent(life io.Reader, cancel context.CancelFunc, ended <-chan struct{}) {
	io.Copy(io.Discard, life)
	cancel()
	select {
	case <-ended:
	case <-time.After(exitGrace):
		os.Exit(3)
	}
}

// child is what the process holds once the model is loaded.
type child struct {
	log   *slog.Logger
	model *engine.Model
	draft *engine.Model // nil for none
	// served is llm or embed, whichever the model is for; the other is nil.
	served served
	llm    *llm.LLM
	embed  *embed.Embedder
	turns  *turns // nil where nobody hands them out
	notes  []string
}

func load(ctx context.Context, cfg Config, log *slog.Logger, report *json.Encoder) (*child, error) {
	lib, err := engine.Open(cfg.EngineDir, log)
	if err != nil {
		return nil, err
	}
	last := float32(-1)
	model, err := lib.LoadModel(ctx, engine.LoadOptions{
		Path: cfg.ModelPath, GPULayers: cfg.GPULayers, MTP: cfg.LLM.MTP > 0,
		Progress: func(p float32) {
			if p >= last+0.01 || p == 1 {
				last = p
				report.Encode(status{Progress: p}) // a lost parent is seen by the life line
			}
		},
	})
	if err != nil {
		return nil, err
	}
	draft, err := loadDraft(ctx, lib, cfg)
	if err != nil {
		return nil, errors.Join(err, model.Close())
	}
	cfg.LLM.Draft = draft
	start := serveModel
	if embeds(cfg, model) {
		start = serveEmbedder
	}
	c, err := start(lib, cfg, model, log)
	if err != nil {
		return nil, errors.Join(err, closeModel(draft), model.Close())
	}
	return c, nil
}

// loadDraft loads the draft model; nil where there is none.
func loadDraft(ctx context.Context, lib *engine.Library, cfg Config) (*engine.Model, error) {
	if cfg.DraftPath == "" {
		return nil, nil
	}
	m, err := lib.LoadModel(ctx, engine.LoadOptions{Path: cfg.DraftPath, GPULayers: cfg.DraftLayers})
	if err != nil {
		return nil, fmt.Errorf("draft model: %w", err)
	}
	return m, nil
}

func closeModel(m *engine.Model) error {
	if m == nil {
		return nil
	}
	return m.Close()
}

// serveModel starts to serve a loaded model.
func serveModel(lib *engine.Library, cfg Config, model *engine.Model, log *slog.Logger) (*child, error) {
	full, notes, err := llm.Derive(cfg.LLM, model.Facts(), cfg.MemoryBytes)
	if err != nil {
		return nil, err
	}
	full.Device = deviceName(lib, cfg.GPULayers)
	if err := header(&full, cfg.ModelPath); err != nil {
		log.Warn("states of sequences are kept whole, and not on disk: the model's file is not understood", "error", err)
	}
	full.CacheDisk.Engine = lib.Version()
	c := &child{log: log, model: model, draft: cfg.LLM.Draft, notes: notes}
	if cfg.Turns {
		if c.turns, err = openTurns(log); err != nil {
			return nil, err
		}
		full.Turns = c.turns
	}
	if c.llm, err = llm.New(model, full, log); err != nil {
		return nil, errors.Join(err, c.leave())
	}
	c.served = c.llm
	return c, nil
}

// header reads from the model's file what the prefix cache wants to know.
func header(cfg *llm.Config, path string) error {
	m, err := gguf.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	if cfg.Geometry, err = m.Geometry(); err != nil {
		return err
	}
	cfg.CacheDisk.Model, err = m.Fingerprint()
	return err
}

// deviceName is where the weights went.
func deviceName(lib *engine.Library, gpuLayers int) string {
	for _, d := range lib.Devices() {
		if gpuLayers != 0 && (d.Kind == "gpu" || d.Kind == "igpu") {
			return d.Name + " (" + d.Description + ")"
		}
	}
	return "CPU"
}

func (c *child) close() {
	if err := errors.Join(c.served.Close(), c.leave(), closeModel(c.draft), c.model.Close()); err != nil {
		c.log.Error("unload", "error", err)
	}
}

// leave takes no turns any more. What took them must have ended.
func (c *child) leave() error {
	if c.turns == nil {
		return nil
	}
	return c.turns.Close()
}

func (c *child) serve(ctx context.Context, socket string, report *json.Encoder) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return errors.Join(fmt.Errorf("runner: %w", err), report.Encode(status{Error: err.Error()}))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathGenerate, c.generate)
	mux.HandleFunc("GET "+pathStats, c.stats)
	mux.HandleFunc("POST "+pathText, c.text)
	mux.HandleFunc("POST "+pathEmbed, c.embedTexts)
	mux.HandleFunc("POST "+pathRerank, c.rerank)
	srv := &http.Server{Handler: mux, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelWarn)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		c.served.Close() // ends every stream with a typed error
		grace, cancel := context.WithTimeout(context.Background(), exitGrace/2)
		defer cancel()
		srv.Shutdown(grace)
	}()
	info := c.served.Info()
	if err := report.Encode(status{Ready: &info, Embedding: c.embedding(), Notes: c.notes}); err != nil {
		return fmt.Errorf("runner: tell the parent: %w", err)
	}
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("runner: %w", err)
	}
	<-stopped
	return nil
}

// generate streams the events of one request as messages. Status 200 means that
// the request was admitted.
func (c *child) generate(w http.ResponseWriter, r *http.Request) {
	var req inference.Request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		writeError(w, inference.Errorf(inference.CodeInternal, "runner: decode request: %v", err))
		return
	}
	if c.llm == nil {
		writeError(w, noText(c.served.Info().Name))
		return
	}
	out := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	started := false
	var text []byte
	for ev, err := range c.llm.Generate(r.Context(), &req) {
		if err != nil {
			if r.Context().Err() == nil && !started {
				writeError(w, typed(err))
			} else if r.Context().Err() == nil {
				out.Encode(message{Error: typed(err)})
			}
			return
		}
		started = true
		if ev.Kind == inference.EventText && ev.Logprobs == nil {
			text = appendText(text[:0], ev.Text)
			_, err = w.Write(text)
		} else {
			err = out.Encode(message{Event: &ev})
		}
		if err == nil && !ev.More {
			err = flush.Flush()
		}
		if err != nil {
			return // the parent went; leaving the range cancels
		}
	}
}

func writeError(w http.ResponseWriter, e *inference.Error) {
	w.WriteHeader(http.StatusUnprocessableEntity)
	json.NewEncoder(w).Encode(message{Error: e})
}

// typed makes any error one that crosses the socket.
func typed(err error) *inference.Error {
	var e *inference.Error
	if errors.As(err, &e) {
		return e
	}
	return inference.Errorf(inference.CodeInternal, "%v", err)
}

func (c *child) stats(w http.ResponseWriter, _ *http.Request) {
	if c.embed != nil {
		json.NewEncoder(w).Encode(embedStats(c.embed.Stats()))
		return
	}
	json.NewEncoder(w).Encode(c.llm.Stats())
}
