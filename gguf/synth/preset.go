package synth

import "dure/gguf"

// SmolShape is the shape of SmolLM2-135M (134.5 million parameters, tied) with
// Q4_1 weights, for benchmarks of Llama: about 85 MB.
func SmolShape() Config {
	return Config{
		Name: "synth-llama-135m", Layers: 30, Embedding: 576, Heads: 9, KVHeads: 3, FeedForward: 1536,
		Context: 8192, Vocabulary: 49152, Tied: true, Weights: gguf.Q4_1,
	}
}

// HybridShape is a qwen35 of about 120 million parameters with Q4_1 weights,
// for benchmarks of Qwen35: about 75 MB.
func HybridShape() Config {
	return Config{
		Name: "synth-qwen35-120m", Layers: 12, Embedding: 768, Heads: 8, KVHeads: 2, HeadDim: 128, FeedForward: 2048,
		Context: 32768, Vocabulary: 32768, Tied: true, Weights: gguf.Q4_1,
		Delta: Delta{Kernel: 4, State: 64, Groups: 8, Heads: 16},
	}
}

// MTPShape is HybridShape with a block that predicts further tokens and is right nearly
// always, for benchmarks of what such guesses win at most: about 100 MB.
func MTPShape() Config {
	c := HybridShape()
	c.Name, c.MTP, c.Chain, c.Noise, c.Tied = "synth-qwen35-120m-mtp", 1, true, 1, false
	return c
}

// Qwen27B is the shape of Qwen3.8-27B: every dimension, tensor and token id as
// in the real file, all weights zero. Written with gguf.Writer.WriteFile it
// takes the disk of its header only (about 12 MB). weights is Q8_0, or Q4K for
// the Q4_K_M mix; mtp is 1 with the block that predicts a further token.
func Qwen27B(weights gguf.TensorType, mtp int) Config {
	return Config{
		Name: "Qwen3.8-27B shape", Layers: 64, Embedding: 5120, Heads: 24, KVHeads: 4, HeadDim: 256, FeedForward: 17408,
		Context: 262144, Vocabulary: 248320, Weights: weights, MoreBits: weights == gguf.Q4K, Sparse: true, MTP: mtp,
		Delta: Delta{Kernel: 4, State: 128, Groups: 16, Heads: 48},
	}
}
