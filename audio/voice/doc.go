// Package voice holds a spoken conversation: it owns the goroutine of a session, which
// takes a client's sound and wishes, keeps the frames, asks the turn machine (package turn)
// what to do, and carries that out with a detector, a recogniser, a responder and a
// synthesiser that it is given.
//
// It does not own sockets or wire formats (package realtime), engines, or models; it starts
// no process. The surface opens sessions through Sessions, tells them events, and pulls what
// is to be sent.
//
// # One session
//
//	client ──Append, Do──> inbox (64) ──> the owner: turn.Next, ring of sound, playout, ledger ──> journal ──Next──> client
//	                                        ^  reports │ jobs
//	                                        └── VAD, STT, TTS, responder: a goroutine for each job
//
// The owner never waits for a reader, an engine or a lock that is held for long. Its clock
// is absolute: frame k is due at t0 + k * 2/15 s. At most two frames are sent ahead of what
// is played.
//
// The process that runs sessions must run nothing that computes for long: with as many busy
// goroutines as there are processors a timer wakes up 10 to 30 ms late instead of 1 (the
// benchmark BenchmarkWake shows it). Engines belong into other processes; so do models and
// the agents' work.
//
// # What a client cannot do
//
// Block the owner, make it hold more than its limits (120 s of input, 30 s of output),
// or lose the conversation by losing the connection: for 30 s it can come back with the
// session's token and the number of the last event it has, and misses nothing.
package voice
