// Package openai is the HTTP surface that clients of OpenAI's API speak: its wire
// format, on package front.
//
// It owns the JSON bodies of its routes (chat/completions, completions, responses,
// embeddings, rerank, models, llama-server's tokenize, detokenize and apply-template, and
// dure's own explain), which of their fields are known, and the form of its answers, events and errors. All else about a request is
// front's. It imports nothing of ours but the vocabulary package inference, front
// and front/strict. Only cmd/dure hands it to front.
//
// Invariants:
//   - Nothing is ignored in silence. A field that is known but not implemented,
//     here or of a server that speaks the same API, is refused by name unless
//     its value asks for nothing; a field that is not known is accepted and
//     named in the answer's "warnings".
//   - A refusal says what to do about it, and its "param" is the path of the
//     field at fault in the body as the client sent it.
//   - A failure inside a stream is an event with an "error" object and the stream
//     ends without [DONE]; of a response it is response.failed.
//
// A request may ask for several answers: n of a conversation, or n of each of
// several prompts, at most 128. The answer's choices are numbered
// prompt * n + k, and the k-th choice of a prompt draws with seed + k. Several
// prompts are all checked before the first of them is answered, where the model's
// tokens are at hand (inference.Tokenizer): a text becomes tokens then, and only
// then. prompt_cache_key is another name for the caller's session.
//
// # Responses
//
// A response is kept under its id, by a [Memory] that outlives the process, unless
// "store" is false; another follows it with previous_response_id, and then reads what
// all before it read and said, but for their instructions. It is for the key that asked
// for it only. A conversation with a gap (one of its responses was deleted or is too
// long ago) is refused. One that cannot be stored is answered, and warns. The id of an
// item tells its response, which is how an item_reference is found.
//
// Reasoning is sent as it is, in one place: in the content of its item, or where a
// summary is asked for as that. With reasoning.encrypted_content it is also there, in
// plain base64 behind "plain:": nothing is secret from whoever asked.
//
// What runs in the background ([Responses]) belongs to a goroutine of its own, which
// ends with its response, a cancel, a DELETE or Close. Its output is empty until it came
// to its end. The events of the latest 32 that did are kept for GET with stream=true: 32 MiB
// of one response at most, and 256 MiB of all. Beyond that the oldest events of a response
// go, and whoever asks for one of those is told from where on there are some (events_gone);
// the response itself is whole.
// One whose server ended first is shown as failed.
//
// A tool of a namespace is known to the model as NAMESPACE__NAME, with the description of
// the namespace before its own, and to the client as both. OpenAI's web search, which
// programs for coding offer unasked, is left out with a warning; all other tools that are
// no functions are refused.
//
// docs/openai-fields.md lists what becomes of each field of the stock client's requests.
//
// The shapes follow OpenAI's API reference for chat completions and completions,
// and llama-server's for tokenize, detokenize, apply-template and the sampling
// parameters that OpenAI does not have; where that leaves room, the stock
// clients decide.
package openai
