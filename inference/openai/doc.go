// Package openai is the HTTP surface that clients of OpenAI's API speak:
// decode a request, call a model, encode its events.
//
// It owns the wire format (JSON bodies, server-sent events, error objects), the
// checks at the door (Host, Origin, API key, size and shape of a body), the
// route table and the metrics and log line of a request. It does not own
// models, queues or processes and decides nothing about them: whatever
// implements [Models] does. It imports nothing of ours but the vocabulary
// package inference. Only cmd/dure builds it.
//
// Invariants:
//   - Nothing is ignored in silence. A field that is known but not implemented
//     is refused by name unless its value asks for nothing; a field that is not
//     known is accepted and named in the answer's "warnings".
//   - The HTTP status is decided before the first byte: a stream begins only
//     after the model took the request. A failure later on is an event with an
//     "error" object and the stream ends without [DONE].
//   - A client that is gone or does not read cancels its generation.
//   - Neither bodies nor keys reach the log, and the text of an unexpected
//     error reaches the log only, never a client.
//
// A handler lives in the goroutine of its request and starts no other.
//
// The shapes follow OpenAI's API reference for chat completions; where that
// leaves room, the stock Python and npm clients decide.
package openai
