// Package gguf reads and writes the GGUF container that holds a language
// model: a header of typed metadata, a directory of tensors, and the tensor
// data. It also derives from the header what a model needs at run time (see
// Geometry).
//
// It owns the bytes of the format: versions 2 and 3, little-endian, one file
// or a set of shards. It does not run a model, does not convert weights, knows
// no engine and reads no file but the ones it is given.
//
// Invariants: a file is mapped read-only and never changed; parsing touches
// only the header; no input makes it panic or allocate more than a small
// multiple of the header's own size; every refusal has the byte offset and the
// field at fault (*FormatError for the container, *KeyError for what the
// metadata says). What is written is deterministic: the same calls give the
// same bytes.
//
// It imports nothing of this module, so any package may use it.
//
// Source of the format: the specification in the ggml project
// (docs/gguf.md) and the loader of llama.cpp v0.5.0, which is stricter; where
// the two differ, the loader decides, because a file it refuses is of no use.
package gguf
