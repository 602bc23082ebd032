// Package spec measures speculative decoding: what a step with several rows of one
// sequence costs, and what drafts win on tasks of their own.
//
// It owns the tasks, the order of the measurements and the ratios. It starts no
// server and no engine of its own but for the bare steps (Rows). Command dure is
// the caller; nothing else should compute meanwhile.
package spec
