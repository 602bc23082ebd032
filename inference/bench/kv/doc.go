// Package kv measures what is lost when keys and values are kept in fewer bits: in
// the cells that a model computes with (hot types) and in the bytes of a sequence
// that waits (parked classes). Each setting is compared with the f16 cache of the
// same model on the same engine.
//
// Measured are
//   - the Kullback-Leibler divergence of the next token's distribution, and how often
//     the likeliest token is the same, over tokens that follow a context, given as
//     they are (teacher-forced);
//   - needles: numbers hidden at several depths, asked for afterwards;
//   - tasks like RULER's: one key, many keys, many values, variables, common words;
//   - repeat: how likely the model finds a piece of the context when it is to be
//     written again;
//   - many questions on one parked state.
//
// Tasks are reported as retention too: of those that the full cache solves, how many
// the setting solves. A small model fails many with any cache.
//
// The package owns the texts and tasks, the arithmetic, the order of work, and the
// rule by which a setting passes (Bound). It does not know codecs (Transform), where
// results are kept, or what follows from a refusal: cmd/dure wires those.
//
// Invariants:
//   - Texts, tasks and their order follow from the seed; nothing is fetched.
//   - Every text is measured at a length for all settings, or counts for none: what an
//     interrupted run reports compares like with like.
//   - Rows with logits are computed few at a time, as answers are written. From 64
//     rows on the engine's attention on CPUs takes another path for f16 cells, and none
//     for quantised ones: the two would be compared with each other.
//   - The reference and each parked class read on from cells that were set in the same
//     order into an empty context, so that unchanged bytes give a divergence of exactly
//     0. A run checks that (Control).
//
// cmd/dure calls it: the command runs it, and what loads and plans models asks Bound
// what may be used. One goroutine, locked to its thread, drives the engine.
package kv
