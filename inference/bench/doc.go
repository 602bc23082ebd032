// Package bench measures dure beside its peers: the bare engine loop against
// llama-bench, the way through runner and HTTP against the bare loop, many
// streams against llama-batched-bench. Both sides of a comparison run in turn,
// A B A B, as processes of their own and on the same library files; what counts
// is the median of the ratios pair by pair, since the speed of a machine
// drifts.
//
// It owns the measuring and the arithmetic, no policy: cmd/dure decides what is
// run and prints the table. Nothing in production imports it.
package bench
