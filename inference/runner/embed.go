package runner

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"

	"dure/inference"
	"dure/inference/embed"
	"dure/inference/engine"
	"dure/inference/llm"
)

// served is what a child does with its model.
type served interface {
	inference.Tokenizer
	Info() inference.Info
	Close() error
}

// embeds says that the model makes vectors: it was asked for, or it can do nothing
// else. A pooling type that is not known is told when it is served.
func embeds(cfg Config, m *engine.Model) bool {
	pooling, err := m.Pooling()
	return cfg.Embed != nil || m.ReadsAtOnce() || pooling != "" || err != nil
}

// serveEmbedder starts to serve a loaded model that makes vectors.
func serveEmbedder(lib *engine.Library, cfg Config, model *engine.Model, log *slog.Logger) (*child, error) {
	wanted := embed.Config{Name: cfg.LLM.Name, MaxInput: cfg.LLM.Context, Queue: cfg.LLM.Queue, Threads: cfg.LLM.Threads, Poll: cfg.LLM.Poll, FlashAttention: cfg.LLM.FlashAttention}
	if cfg.Embed != nil {
		wanted = *cfg.Embed
	}
	full, notes, err := embed.Derive(wanted, model)
	if err != nil {
		return nil, err
	}
	full.Device = deviceName(lib, cfg.GPULayers)
	c := &child{log: log, model: model, draft: cfg.LLM.Draft, notes: notes}
	if cfg.Turns {
		if c.turns, err = openTurns(log); err != nil {
			return nil, err
		}
		full.Turns = c.turns
	}
	if c.embed, err = embed.New(model, full, log); err != nil {
		return nil, errors.Join(err, c.leave())
	}
	c.served = c.embed
	return c, nil
}

// embedding describes the vectors; nil where the model makes text.
func (c *child) embedding() *inference.EmbeddingInfo {
	if c.embed == nil {
		return nil
	}
	return c.embed.Embedding()
}

// embedAnswer is inference.Embeddings with its numbers in one piece, little-endian: as
// text they would take three times the room and twenty times the time.
type embedAnswer struct {
	Numbers   []byte  `json:"numbers"`
	Width     int     `json:"width"` // numbers of a vector
	Tokens    int     `json:"tokens"`
	QueueMS   float64 `json:"queue_ms"`
	ComputeMS float64 `json:"compute_ms"`
}

func packVectors(e *inference.Embeddings) embedAnswer {
	a := embedAnswer{Tokens: e.PromptTokens, QueueMS: e.QueueMS, ComputeMS: e.ComputeMS}
	for _, v := range e.Vectors {
		a.Width = len(v)
		for _, x := range v {
			a.Numbers = binary.LittleEndian.AppendUint32(a.Numbers, math.Float32bits(x))
		}
	}
	return a
}

func (a embedAnswer) unpack(inputs int) (*inference.Embeddings, error) {
	if a.Width < 1 || len(a.Numbers) != inputs*a.Width*4 {
		return nil, fmt.Errorf("%d bytes for %d vectors of %d numbers", len(a.Numbers), inputs, a.Width)
	}
	e := &inference.Embeddings{Vectors: make([][]float32, inputs), PromptTokens: a.Tokens, QueueMS: a.QueueMS, ComputeMS: a.ComputeMS}
	rest := a.Numbers
	for i := range e.Vectors {
		e.Vectors[i] = make([]float32, a.Width)
		for k := range a.Width {
			e.Vectors[i][k] = math.Float32frombits(binary.LittleEndian.Uint32(rest))
			rest = rest[4:]
		}
	}
	return e, nil
}

// embedTexts answers POST pathEmbed.
func (c *child) embedTexts(w http.ResponseWriter, r *http.Request) {
	answerOnce(c, w, r, func(ctx context.Context, e *embed.Embedder, req *inference.EmbedRequest) (any, error) {
		out, err := e.Embed(ctx, req)
		if err != nil {
			return nil, err
		}
		return packVectors(out), nil
	})
}

// rerank answers POST pathRerank.
func (c *child) rerank(w http.ResponseWriter, r *http.Request) {
	answerOnce(c, w, r, func(ctx context.Context, e *embed.Embedder, req *inference.RerankRequest) (any, error) {
		return e.Rerank(ctx, req)
	})
}

func answerOnce[R any](c *child, w http.ResponseWriter, r *http.Request, work func(context.Context, *embed.Embedder, *R) (any, error)) {
	req := new(R)
	if err := json.NewDecoder(r.Body).Decode(req); err != nil {
		writeError(w, inference.Errorf(inference.CodeInternal, "runner: decode request: %v", err))
		return
	}
	if c.embed == nil {
		writeError(w, noVectors(c.served.Info().Name))
		return
	}
	out, err := work(r.Context(), c.embed, req)
	if err != nil {
		writeError(w, typed(err))
		return
	}
	json.NewEncoder(w).Encode(out)
}

func noText(model string) *inference.Error {
	err := inference.Errorf(inference.CodeUnsupported, "model %s makes vectors or scores of texts and writes none; use /v1/embeddings or /v1/rerank", model)
	err.Param = "model"
	return err
}

func noVectors(model string) *inference.Error {
	err := inference.Errorf(inference.CodeUnsupported, "model %s writes text and makes no vectors or scores; take one with the role embedding", model)
	err.Param = "model"
	return err
}

// embedStats has the counters of an embedder in the names of those of text: all that
// it does is to read prompts.
func embedStats(s embed.Stats) llm.Stats {
	out := llm.Stats{
		Steps: s.Batches, PromptTokens: s.Tokens, PrefillSeconds: s.Seconds, EngineCPUSeconds: s.CPUSeconds,
		Rejected: s.Rejected, CancelledQueued: s.Cancelled, Threads: s.Threads, Waiting: s.Waiting, Prefilling: s.Running,
	}
	for _, b := range s.Memory {
		out.Memory = append(out.Memory, llm.Memory{Buffer: b.Name, Device: b.Device, Weights: b.Weights, Cache: b.Cache, Compute: b.Compute})
	}
	return out
}

// Embedding implements inference.Embedder.
func (c *Client) Embedding() *inference.EmbeddingInfo { return c.embedding }

// Embed implements inference.Embedder.
func (c *Client) Embed(ctx context.Context, req *inference.EmbedRequest) (*inference.Embeddings, error) {
	var a embedAnswer
	if err := c.askOnce(ctx, pathEmbed, req, &a); err != nil {
		return nil, err
	}
	out, err := a.unpack(len(req.Inputs))
	if err != nil {
		return nil, inference.Errorf(inference.CodeInternal, "runner: answer: %v", err)
	}
	return out, nil
}

// Rerank implements inference.Reranker.
func (c *Client) Rerank(ctx context.Context, req *inference.RerankRequest) (*inference.Ranking, error) {
	var a inference.Ranking
	if err := c.askOnce(ctx, pathRerank, req, &a); err != nil {
		return nil, err
	}
	if len(a.Scores) != len(req.Documents) {
		return nil, inference.Errorf(inference.CodeInternal, "runner: %d scores for %d documents", len(a.Scores), len(req.Documents))
	}
	return &a, nil
}

// askOnce sends v and reads the whole answer.
func (c *Client) askOnce(ctx context.Context, path string, v, into any) error {
	body, err := c.post(ctx, path, v)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return c.broken(ctx, err)
	}
	return nil
}
