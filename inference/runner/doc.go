// Package runner keeps each loaded model in a child process of its own, since
// an assertion inside the engine ends the process it runs in.
//
// Serve is the child: it loads the model, then answers HTTP over a unix socket
// (protocol.go).
// Start is the parent: it spawns the child, waits until the model is loaded and
// returns a Client, which implements inference.Model over the socket.
//
// The life line is the child's standard input: its first line is the
// configuration, and when it ends (the parent closed it, or died in any way)
// the child exits. The child reports on file descriptor 3: a line of JSON for
// each step of the load, then ready or an error. Its log goes to stderr.
//
// Invariants: a child never outlives its parent; a Client whose child died
// answers every call, also running ones, with inference.ErrRunnerLost.
package runner
