// Package pack is git's pack format: single entries, whole packs and their indexes
// (version 2), and the deltas of packs that others made. It owns bytes and how they
// are read from an io.ReaderAt; it owns no file, no lock and no goroutine. Package
// vcs says where packs are and what is in them.
//
// What it writes are whole objects, never deltas: `git repack` makes small packs
// out of them when there is time.
//
// Source of the formats: git's gitformat-pack documentation. Everything may be
// called from any goroutine.
package pack
