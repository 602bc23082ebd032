// Package embed is one loaded model that makes vectors, or scores, of texts: it
// implements inference.Embedder and inference.Reranker over an engine.Model.
//
// Its one owner goroutine (owner.go), locked to a thread, holds the engine's context.
// It repeats: drain the inbox; pack inputs of whoever waits into one batch; compute
// it. A request with many inputs takes its share of each batch, so that a small one
// beside it does not wait for all of them (queue.go, pure). Text becomes tokens, and
// vectors get their length, in the caller's goroutine.
//
// It does not load models, plan memory or speak HTTP.
//
// Invariants: an input is computed whole or refused with its index; nothing is cut.
// A request that was cancelled takes part in no further batch. Whoever asks is
// answered or told why not, also when the model is unloaded.
//
// Callers: package runner in production, tests directly.
package embed
