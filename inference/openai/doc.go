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
//     after the model took the request, or after 10 seconds of waiting for that
//     (a load, a full machine). A failure later on is an event with an "error"
//     object and the stream ends without [DONE].
//   - A stream is never silent for longer than 15 seconds: comments fill gaps.
//   - A client that is gone or does not read cancels its generation. One that
//     closed only its sending side cannot be told from one that is gone: its
//     connection is cut, so that it does not take what it has for an answer.
//   - Neither bodies nor keys reach the log, and the text of an unexpected
//     error reaches the log only, never a client.
//
// # Choices
//
// A request may ask for several answers: n of a conversation, or n of each of
// several prompts, at most 128. The answer's choices are numbered
// prompt * n + k, and the k-th choice of a prompt draws with seed + k. As many
// run at once as the model decodes at once (inference.Info.Sequences), so one
// request does not fill the queue for others; the rest follows as places become
// free. One failure cancels all of them and fails the request: with a status
// while no byte is out, with an event after that. Usage counts a prompt once
// and sums all else, times included.
//
// # Goroutines
//
// A handler lives in the goroutine of its request, which alone encodes. With
// one choice it pulls the model's events itself. With several, each running
// choice has a goroutine that only pulls and hands its events over a bounded
// channel. A stream also has a timer that writes comments; a lock around each
// write keeps it from the handler's. Nothing outlives the handler.
//
// The shapes follow OpenAI's API reference for chat completions and completions,
// and llama-server's for tokenize, detokenize, apply-template and the sampling
// parameters that OpenAI does not have; where that leaves room, the stock
// clients decide.
package openai
