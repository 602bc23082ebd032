// Package remote makes a model behind an endpoint an inference.Model: another dure
// server, or any server that streams OpenAI's POST /v1/chat/completions (for raw
// prompts /v1/completions) or Anthropic's POST /v1/messages.
//
// It owns the client side of both wire formats, an endpoint's key, the limits of one
// answer in time and in bytes, and, in one place, what is tried again (Patient). It
// owns no queue, no price and no choice of a model. It imports nothing of ours but the
// vocabulary. Callers: cmd/dure.
//
//	OpenAI, Anthropic -> *Model    one request, one answer, nothing is tried again
//	Patient(model)                 waits and tries again, before an answer has begun
//
// # What holds
//
//   - An answer ends in EventDone only where the endpoint said that it is whole. What
//     breaks off, or is no stream of events, ends with an error.
//   - Failures of an endpoint are an *Error, which says of what kind it is and whether
//     waiting helps; in it is an *inference.Error with the code for callers that know
//     the vocabulary only.
//   - Leaving the range, or cancelling the context, closes the connection.
//   - No line and no body is read beyond its limit.
//   - A key is in the header of a request to its own endpoint and nowhere else: not in
//     an error, whatever the endpoint sends back, and not at another address, since
//     redirects are not followed.
//   - A wish that the wire format has no words for is an error that names it.
//
// # Thinking at Anthropic's endpoints
//
// Thinking comes with signatures, and is taken back with them only. They are in the
// Proof of an answer, which a caller that keeps conversations sends back with the
// message. For those that do not, the model keeps, in memory, the blocks of its last
// answers that had any, and finds them again by what the answer said. Thinking whose
// signature is not there any more is left out of the conversation, which that API allows.
//
// The shapes follow the API references of OpenAI and Anthropic; where those leave room,
// what dure's own surfaces and llama-server send.
package remote
