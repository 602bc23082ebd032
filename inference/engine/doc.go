// Package engine drives the llama.cpp shared libraries: it loads a model, makes
// a context for many sequences, decodes batches of token ids and hands out
// logits, sequence operations and state bytes. It is the only importer of yzma
// and of the C ABI behind it.
//
// It speaks token ids only; templates, messages and sampling policy live
// elsewhere. It decides nothing.
//
// Invariants:
//   - One Library per process, and one set of callbacks in it: registering a C
//     callback uses up a slot that is never given back.
//   - Every call that makes the C side abort the process (see batch.go and
//     sequence.go) is checked in Go first and returns an error instead.
//   - A Context belongs to one goroutine that has called
//     runtime.LockOSThread; its methods are not safe for concurrent use. A
//     Model's and a Library's methods are.
//   - A decode is never aborted: on recurrent models that corrupts sequences
//     outside the batch. Cancelling means leaving a sequence out of the next one.
package engine
