// Package synth writes small language models with random weights, so that
// tests and benchmarks have something the engine really loads and decodes
// without a download.
//
// It owns the shapes, tensor names, tokenizer tables and random weights of
// these files; the container is package gguf's. It trains nothing and
// pretends nothing: the text such a model makes is noise.
//
// Invariants: the same Config gives the same bytes on every machine (weights
// come from a seeded generator per tensor and need one rounding each); the
// tokenizer encodes any UTF-8 text and decodes it back; token ids of the bytes
// and of the special tokens never move (see FirstByteToken).
//
// Tests, benchmarks and the diagnostic commands may call it; the server's
// serving path may not.
package synth
