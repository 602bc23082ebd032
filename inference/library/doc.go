// Package library keeps the engine's shared libraries on disk: it fetches the
// pinned prebuilt ones, builds others from source, checks them, and says which
// to try on a machine.
//
// It owns the folders engine and build of a home folder. A set of libraries is
// a folder engine/VARIANT-VERSION with a manifest. It loads nothing: that is
// inference/engine's, and whether a set starts on a machine is known only there.
//
// Invariants:
//   - pins.go names every version and hash that belongs together; a set made
//     from other pins is not used;
//   - a set appears whole or not at all, and its manifest describes every file;
//   - Choose is pure and never hides a choice: each carries its reason, and what
//     the user asked for is the only choice.
//
// Calls that fetch, build or verify block: commands call them, request paths do
// not. Safe for concurrent use by goroutines and processes.
package library
