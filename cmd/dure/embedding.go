package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dure/gguf"
	"dure/inference/catalog"
	"dure/inference/embed"
	"dure/inference/engine"
	"dure/inference/llm"
	"dure/inference/plan"
)

// roleEmbedding is that of models that make vectors in the catalogue.
const roleEmbedding = "embedding"

// poolingOf is the kind of pooling that a model's file names; empty for a model that
// makes text, and for a number that the engine does not know.
func poolingOf(m *gguf.Model) string {
	md := m.Metadata()
	arch, ok := md.Get(gguf.KeyArchitecture)
	if !ok {
		return ""
	}
	name, err := arch.Text()
	v, ok := md.Get(name + ".pooling_type")
	if err != nil || !ok {
		return ""
	}
	n, err := v.Uint()
	kinds := []string{"", "mean", "cls", "last", "rank"}
	if err != nil || n >= uint64(len(kinds)) {
		return ""
	}
	return kinds[n]
}

// embedConfig is how a model makes vectors; nil for one that makes text.
func (h *host) embedConfig(e catalog.Entry, m *gguf.Model, cfg llm.Config) *embed.Config {
	if poolingOf(m) == "" && !slices.Contains(e.Roles, roleEmbedding) {
		return nil
	}
	return &embed.Config{
		Name: e.Name, Pooling: engine.Pooling(e.Embedding.Pooling), Shortest: e.Embedding.Shortest, MaxInput: e.Defaults.Context,
		Queue: cfg.Queue, Threads: cfg.Threads, Poll: cfg.Poll, FlashAttention: cfg.FlashAttention,
	}
}

// placeEmbedding plans the load of a model that makes vectors. Shrink is how often its
// inputs are to be half as long as usual, because it did not fit.
func (h *host) placeEmbedding(ctx context.Context, e catalog.Entry, m plan.Model, pooling string, p *placement, shrink int) error {
	trained, asked := m.Geometry.TrainContext, p.embed.MaxInput > 0
	if n := int(h.opt.context); !asked && n > 0 {
		if p.embed.MaxInput, asked = n, true; trained > 0 && n > trained {
			// --context is for the models that make text.
			p.learnt = append(p.learnt, fmt.Sprintf("--context %d is more than this model reads, inputs have %d tokens at most", n, trained))
			p.embed.MaxInput = trained
		}
	}
	c := p.embed.Sizes(trained)
	if shrink > 0 && !asked {
		c.MaxInput = max(c.MaxInput>>shrink, min(c.MaxInput, leastContext))
		c.Batch = 0
		c = c.Sizes(trained)
	}
	devices, err := h.engine.planDevices(ctx, h.residentWeights())
	if err != nil {
		return err
	}
	w, err := h.opt.load.wish()
	if err != nil {
		return err
	}
	w.NoFlash, w.LongContext = h.opt.flash == "off", false
	made, err := plan.MakeEmbedding(plan.Input{Model: m, Devices: devices, Wish: w, Measured: h.measured.shapes(m)}, plan.Embedding{
		MaxInput: c.MaxInput, Tokens: c.Batch, Inputs: c.Inputs, MicroBatch: c.MicroBatch, Pooling: pooling, Stepwise: pooling == "last" && !m.Geometry.Encoder,
	})
	var refused *plan.RefusedError
	switch {
	case errors.As(err, &refused):
		return &refusedLoad{loadError("model %s: %v", e.Name, err), refused}
	case err != nil:
		return loadError("model %s: %v", e.Name, err)
	}
	p.embed, p.shrink = &c, shrink
	p.made(m, &made)
	return nil
}
