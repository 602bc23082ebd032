// Package arbiter shares a device between the processes that compute on it, a slice
// of time each, so that a voice's frame never stands behind the whole of another
// model's prompt.
//
// In the parent an Arbiter has one goroutine that owns a pure policy (policy.go:
// events in, effects out). In a child a Turn asks for the device before each call
// into the engine and gives it back after. Between them is a pair of sockets with
// frames of one size (frame.go). What the engine computes, and how a process is
// started, is not its business; nor is memory, which was planned before.
//
// A lease is for one call, and is kept over more while nobody else asks: then a call
// costs no message. A call cannot be interrupted. So a lease that is wanted by others
// ends with the call that runs, and Slice tells the process how long its calls may
// be. It is 0 where no other process is on its devices.
//
// Order: a voice frame, the one that is due first; then the next tokens of running
// answers; then pieces of prompts; between those of a kind, whoever used less of the
// device. One that has waited for Rules.Age goes before all others, once, and no
// frame is passed twice like this.
//
// Invariants: no more processes than Rules.Holders have a lease on a device, those
// presumed stuck aside; where processes keep to their slices, a frame alone waits for
// one slice, and for two where others have waited for Age; everybody who asks gets a
// turn; a process that ends, or is silent for Rules.Silent, keeps nobody waiting.
//
// Callers: cmd/dure makes the Arbiter and joins processes to it; a Turn belongs to
// inference/runner, in the child.
package arbiter
