// Package catalog knows models by name: it decodes models.yaml, brings a model's
// file onto the disk and finds it there.
//
// It owns the folder models of a home folder. It reads nothing of a GGUF file
// but its first bytes (gguf does that) and loads no model (inference/pool does).
//
// Invariants:
//   - a catalog is decoded strictly: whatever in the file has no effect is an
//     error with its line;
//   - a file under models is complete and has the hash that its entry names;
//   - a user's own GGUF file is read, never moved, changed or removed.
//
// Decode, Merge and Resolve are quick; Pull fetches and blocks. Commands call
// them, request paths do not. Safe for concurrent use by goroutines and
// processes.
package catalog
