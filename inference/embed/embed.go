package embed

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"dure/inference"
	"dure/inference/engine"
)

// Embedder is one loaded model. It is safe for concurrent use.
type Embedder struct {
	cfg     Config
	log     *slog.Logger
	model   *engine.Model
	pairing pairing
	info    inference.Info
	about   inference.EmbeddingInfo
	memory  []engine.Buffers

	// inbox is the owner's only entrance; done is closed when it has ended.
	inbox    chan command
	stop     chan struct{}
	done     chan struct{}
	stopping atomic.Bool
	stats    counters
	large    chan struct{} // held while a large text is tokenised
}

// New makes the context for a loaded model and starts its owner. The model stays the
// caller's to close, after Close. cfg must be complete (Derive).
func New(model *engine.Model, cfg Config, log *slog.Logger) (*Embedder, error) {
	e := &Embedder{
		cfg: cfg, log: log, model: model, inbox: make(chan command, 64),
		stop: make(chan struct{}), done: make(chan struct{}), large: make(chan struct{}, 1),
	}
	if cfg.Pooling == engine.PoolingRank {
		var err error
		if e.pairing, err = pairingOf(model); err != nil {
			return nil, fmt.Errorf("model %s: %w", cfg.Name, err)
		}
	}
	started := make(chan error, 1)
	go e.own(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return e, nil
}

// describe is called before anybody may ask.
func (e *Embedder) describe(ctx *engine.EmbeddingContext) {
	f := e.model.Facts()
	longest := min(e.cfg.MaxInput, ctx.MaxInput())
	e.info = inference.Info{
		Name: e.cfg.Name, Architecture: f.Architecture, Description: f.Description,
		Context: longest, TrainContext: f.TrainContext, Sequences: e.cfg.Inputs, Queue: e.cfg.Queue,
		Vocabulary: f.Vocabulary, Parameters: f.Parameters, Bytes: f.Bytes, Device: e.cfg.Device,
	}
	e.about = inference.EmbeddingInfo{Pooling: string(e.cfg.Pooling), MaxInput: longest}
	if e.cfg.Pooling == engine.PoolingRank {
		e.about.Reranks = true
		return
	}
	e.about.Dimensions = ctx.Size()
	if e.cfg.Shortest > 0 {
		e.about.Shortens, e.about.MinDimensions = true, min(e.cfg.Shortest, ctx.Size())
	}
}

// Info describes the model as loaded.
func (e *Embedder) Info() inference.Info { return e.info }

// Embedding implements inference.Embedder.
func (e *Embedder) Embedding() *inference.EmbeddingInfo {
	about := e.about
	return &about
}

// Close ends all requests with ErrShuttingDown and frees the context. It returns when
// the owner has ended.
func (e *Embedder) Close() error {
	if e.stopping.CompareAndSwap(false, true) {
		close(e.stop)
	}
	<-e.done
	return nil
}

// Embed implements inference.Embedder.
func (e *Embedder) Embed(ctx context.Context, req *inference.EmbedRequest) (*inference.Embeddings, error) {
	if err := e.checkRequest(req); err != nil {
		return nil, err
	}
	inputs, err := e.inputs(ctx, req.Inputs)
	if err != nil {
		return nil, err
	}
	j, err := e.run(ctx, inputs, req.Caller)
	if err != nil {
		return nil, err
	}
	for i, v := range j.numbers {
		if j.numbers[i], err = unit(v[:cmp.Or(req.Dimensions, len(v))]); err != nil {
			return nil, inference.Errorf(inference.CodeInternal, "input %d: %v", i, err)
		}
	}
	out := &inference.Embeddings{Vectors: j.numbers, PromptTokens: total(inputs)}
	out.QueueMS, out.ComputeMS = j.times()
	return out, nil
}

func (e *Embedder) checkRequest(req *inference.EmbedRequest) error {
	a := e.about
	switch n := req.Dimensions; {
	case a.Reranks:
		return refuse(inference.CodeUnsupported, "model", "model %s ranks documents and makes no vectors; ask it by /v1/rerank", e.cfg.Name)
	case len(req.Inputs) == 0:
		return refuse(inference.CodeInvalidRequest, "input", "there is no input")
	case n == 0 || n == a.Dimensions:
		return nil
	case !a.Shortens:
		return refuse(inference.CodeUnsupported, "dimensions", "the vectors of model %s have %d numbers and were not trained to be shortened; leave dimensions out", e.cfg.Name, a.Dimensions)
	case n < a.MinDimensions || n > a.Dimensions:
		return refuse(inference.CodeInvalidRequest, "dimensions", "model %s makes vectors of %d to %d numbers, not of %d", e.cfg.Name, a.MinDimensions, a.Dimensions, n)
	}
	return nil
}

// run has the inputs computed.
func (e *Embedder) run(ctx context.Context, inputs [][]engine.Token, who inference.Caller) (*job, error) {
	weight, known := weights[who.Priority]
	if !known {
		return nil, refuse(inference.CodeInvalidRequest, "priority", "there is no priority %q", who.Priority)
	}
	if who.DeadlineMS > 0 {
		late := inference.Errorf(inference.CodeDeadline, "the deadline of %d ms has passed", who.DeadlineMS)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(who.DeadlineMS)*time.Millisecond, late)
		defer cancel()
	}
	j := &job{inputs: inputs, weight: weight, submitted: time.Now(), done: make(chan struct{}), numbers: make([][]float32, len(inputs))}
	select {
	case e.inbox <- command{submit: j}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-e.done:
		return nil, errStopped
	}
	select {
	case <-j.done:
		return j, j.err
	case <-ctx.Done():
		select {
		case e.inbox <- command{cancel: j}:
		case <-e.done:
		}
		return nil, context.Cause(ctx)
	case <-e.done: // it crossed with the stop
		return nil, errStopped
	}
}

// times are how long a job waited, and then took, in milliseconds.
func (j *job) times() (queue, compute float64) {
	const ms = float64(time.Millisecond)
	return float64(j.begun.Sub(j.submitted)) / ms, float64(j.last.Sub(j.begun)) / ms
}

func total(inputs [][]engine.Token) (n int) {
	for _, in := range inputs {
		n += len(in)
	}
	return n
}

func refuse(code inference.Code, param, format string, args ...any) *inference.Error {
	err := inference.Errorf(code, format, args...)
	err.Param = param
	return err
}
