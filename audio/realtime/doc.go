// Package realtime serves the OpenAI Realtime API: sessions over a WebSocket (GET
// /v1/realtime), secrets for browsers (POST /v1/realtime/client_secrets), and speech and
// transcripts by ordinary requests (POST /v1/audio/speech, /v1/audio/transcriptions).
//
// It owns connections: who may open one, what is read from it and written to it, and how
// long it may be silent. A session (package voice) owns the conversation, and outlives its
// connection; what the bytes mean is package wire's. It decides nothing about turns, and
// knows no engine or model: cmd wires those into the sessions.
//
// # Goroutines
//
// A connection has two: one reads and gives the session what it read; one pulls what the
// session tells and writes it. Writes are serialised by a lock around the socket, because
// the reader answers malformed events itself. Neither outlives the handler. The session's
// own goroutine never waits for a connection: a client that does not read falls behind, is
// cut, and may resume.
//
// # Invariants
//
//   - A connection needs a key, or a secret that was made with one and is used once.
//   - A page may connect only from an origin that the door allows.
//   - Every event of a client has an effect or an error; a malformed one ends nothing but
//     itself, except where it is beyond the size that a message may have.
//   - A secret dies at its time, at its use, and with the process.
package realtime
