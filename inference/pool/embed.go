package pool

import (
	"context"

	"dure/inference"
)

// Embedding implements inference.Embedder.
func (h *handle) Embedding() *inference.EmbeddingInfo { return h.embedding }

// embeddingOf is what a runner says of its vectors; nil where it makes none.
func embeddingOf(r Runner) *inference.EmbeddingInfo {
	if e, ok := r.(inference.Embedder); ok {
		return e.Embedding()
	}
	return nil
}

// Embed implements inference.Embedder over whichever runner is alive.
func (h *handle) Embed(ctx context.Context, req *inference.EmbedRequest) (*inference.Embeddings, error) {
	return ask(ctx, h, func(r Runner) (*inference.Embeddings, error) {
		e, ok := r.(inference.Embedder)
		if !ok {
			return nil, h.textOnly()
		}
		return e.Embed(ctx, req)
	})
}

// Rerank implements inference.Reranker over whichever runner is alive.
func (h *handle) Rerank(ctx context.Context, req *inference.RerankRequest) (*inference.Ranking, error) {
	return ask(ctx, h, func(r Runner) (*inference.Ranking, error) {
		e, ok := r.(inference.Reranker)
		if !ok {
			return nil, h.textOnly()
		}
		return e.Rerank(ctx, req)
	})
}

func (h *handle) textOnly() error {
	err := inference.Errorf(inference.CodeUnsupported, "model %s writes text and makes no vectors or scores", h.name)
	err.Param = "model"
	return err
}
