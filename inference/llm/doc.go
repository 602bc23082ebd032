// Package llm is one loaded model at the level of messages: it implements
// inference.Model over an engine.Model.
//
// Its one owner goroutine (owner.go), locked to a thread, holds the engine's
// context, the scheduler and the samplers. It repeats: drain the inbox; one
// decode call for all running sequences, their tokens sampled and pushed; drain
// again; one chunk of one prompt. Where guesses of coming tokens are worth it
// (spec.go, package spec), a sequence has a row for each of them too, and what the
// engine computed from wrong ones is taken back before anything else sees it. It
// speaks token ids, does no I/O and never waits for a reader: a request whose outbox
// is full is not runnable until its reader has caught up. It holds no lock.
//
// Everything with text happens in the caller's goroutine (generate.go):
// template, tokenising, decoding of characters, stop strings. There too past
// answers re-enter prompts as they were sampled (reentry.go, past.go): that
// memory is shared by the callers under a lock which the owner never takes.
//
// Callers: package runner in production, tests and benchmarks directly.
package llm
