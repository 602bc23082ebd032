// Package catalog knows models by name: it decodes models.yaml, brings a model's
// file onto the disk, finds it there or in another program's folder, verifies and
// removes it.
//
// It owns the folders models and pins of a home folder: the files with notes of
// their hashes, and what was learned at the first pull about files whose entry
// names no hash. It judges a file by its header (gguf reads that) before the rest
// is fetched, and loads no model (inference/pool does). It speaks to no endpoint
// (inference/remote does).
//
// Invariants:
//   - a catalog is decoded strictly: whatever in the file has no effect is an
//     error with its line;
//   - a file under models is complete and has the hash that its entry names;
//   - a user's own GGUF file, and one of another program, is read, never moved,
//     changed or removed;
//   - what is removed is what dure made.
//
// Decode, Merge and Resolve are quick; Pull fetches and blocks. Commands call
// them, request paths do not. Safe for concurrent use by goroutines and
// processes.
package catalog
