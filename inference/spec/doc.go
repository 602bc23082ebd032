// Package spec decides about speculative decoding: which tokens are guessed, how
// many of them it pays to have checked in a step, and which are kept.
//
// # Guesses
//
// An Index finds the longest end of a text that occurred before in it, and guesses
// that what followed then follows now: agents emit again what they were shown. A
// Shelf does the same over finished texts that began with the same trunk. A draft
// model can make guesses, too, wherever the caller has one: it offers so many tokens,
// and makes those that it is asked for.
//
// # How many
//
// A step with guesses has more rows and costs more. What it costs is measured as the
// steps go by (costs), by the number of streams and the length of their contexts;
// how likely a guess is right, too (rates), also of guesses that nobody had checked:
// those are compared with what came. (Not those of a draft model: they would have to
// be made first, which costs time that is measured, too.) Policy gives each step the
// number of rows with the most expected tokens for the time, and none where that is
// not clearly more than without.
//
// # What is kept
//
// Verify draws every token from the model's own logits with the request's own
// sampler, as without guesses, and goes on while the token drawn is the one guessed.
// That is exact whatever the guesses are: each token that goes out was drawn from
// the distribution of the model behind exactly the tokens before it, and sampler
// and random numbers advance once for each of them, so that even the seed means the
// same. For a guess that is certain (one token, no distribution over several), it
// keeps as many as rejection sampling would: token x with the probability p(x).
//
// # Invariants
//
//   - The package is pure: no engine, no clock, no goroutine, no lock; tokens and
//     nanoseconds come from the caller.
//   - Memory is bounded: an Index takes 16 bytes a token at most, a Shelf what it
//     was given, costs a fixed table.
//   - A guess is never part of an answer unless the model drew it.
//
// The owner goroutine of package llm is the caller. NewIndex may be called anywhere.
package spec
