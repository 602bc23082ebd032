// Package ollama is the HTTP surface that clients of Ollama speak: decode a request,
// hand it to the front, encode what comes back, one JSON value a line.
//
// It owns that wire format: names of models with a tag, options, messages whose
// arguments are objects, durations in nanoseconds. The door, the body, deadlines,
// streams and models are the front's; what the catalogue can tell, pull and remove,
// a [Catalogue] does. It decides nothing about the answer. Only cmd/dure builds it.
//
// What it makes of what Ollama does and this server does not:
//
//   - Nothing is cut: a prompt that does not fit is an error, whatever "truncate" and
//     "shift" say. A num_ctx that is larger than the model's context is one too.
//   - Options that say how a model is loaded there (num_gpu, use_mmap, ...) are named
//     in the header X-Dure-Warnings: a model is loaded by plan here.
//   - "name:latest" is "name"; other tags are part of a name of the catalogue.
//   - Images are refused; models are neither created, copied nor pushed.
//
// The shapes follow Ollama's API documentation and the types of its Go client, which
// are not imported: its module brings eighty others. The stock clients decide.
package ollama
