// Package object is git's object model as pure functions: identifiers, trees,
// commits, and what a name in a tree may be. It reads and writes the very bytes
// that git hashes, and refuses what `git fsck --strict` refuses. It owns no storage
// and no compression: package pack has those, package vcs keeps objects.
//
// Source of the formats: git's documentation of its object, tree and pack formats;
// the oracle of the tests is git itself.
//
// Repositories are SHA-1 only. Everything here may be called from any goroutine;
// byte slices that are handed in are never kept or changed.
package object
