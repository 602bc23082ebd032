// Package spec measures speculative decoding: what guesses win on tasks of their own.
// What there is to be won at all, bench.Rows tells.
//
// It owns the tasks, the order of the measurements and the ratios. It starts no
// server and no engine. Command dure is the caller; nothing else should compute meanwhile.
package spec
