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
//   - Nothing is ignored in silence. A field that is known but not implemented,
//     here or of a server that speaks the same API, is refused by name unless
//     its value asks for nothing; a field that is not known is accepted and
//     named in the answer's "warnings".
//   - A refusal says what to do about it, and its "param" is the path of the
//     field at fault in the body as the client sent it.
//   - No answer waits for a body that it does not need: it is sent at once and
//     the connection ends with it. No read from a client is without a deadline
//     but the one that notices the end of a client that waits for its answer.
//   - The bodies of all requests together hold at most Options.BodyBudget bytes;
//     what would be more is refused with 503.
//   - The HTTP status is decided before the first byte: a stream begins only
//     after the model took the request, or after 10 seconds of waiting for that
//     (a load, a full machine). A failure later on is an event with an "error"
//     object and the stream ends without [DONE].
//   - A request that names a deadline ends with 504, one whose agent is stopped
//     with 409, wherever it stands: while its model is loaded, in the queue,
//     between its choices; inside a stream that is an event. The stock clients are
//     told not to repeat either.
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
// free, and waits where others took them meanwhile. Several prompts are all
// checked before the first of them is answered, where the model's tokens are at
// hand (inference.Tokenizer): a text becomes tokens then, and only then. One
// failure cancels all choices and fails the request: with a status while no byte
// is out, with an event after that. Usage counts a prompt once and sums all
// else, times included.
//
// # Callers
//
// A request may tell who asks, how urgent it is and what follows
// (inference.Caller): in the body's fields session (also prompt_cache_key), agent,
// parent, priority, deadline_ms, next, pin_prefix and keep_alive, or in the headers
// X-Dure-Session, X-Dure-Agent, X-Dure-Parent, X-Dure-Priority,
// X-Dure-Deadline-Ms, X-Dure-Next, X-Dure-Pin-Prefix and X-Dure-Keep-Alive. What is
// told twice must be the same in both places. A deadline counts from the request's
// header, and the model is told what is left of it. keep_alive is how long the model
// stays loaded when nobody else asks for it. All choices of a request are one request of its
// agent. Which agents there are, and what a stop reaches, is for [Team] to know.
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
