// Package strict decodes the JSON bodies of requests strictly, by tables of
// fields.
//
// It owns the walk over a body, the kinds and limits of values, and the words of
// a refusal. It knows no route and no field: a surface declares [Fields] of its
// own. It is pure, imports nothing of ours but the vocabulary package inference,
// and is there for inference/front and the surfaces above it.
//
// Invariants:
//   - A body is one JSON value in valid UTF-8; where it is not, the error says at
//     which line, column and byte.
//   - Nothing is ignored in silence: a member that no table knows becomes a
//     warning ([Decoder.Unknown]), one that is known and not implemented a refusal
//     of the code unsupported_parameter ([Only], [Instead]), a member that comes
//     twice an error. Null means absent.
//   - Every error is an *inference.Error whose Param is the path of the value at
//     fault in the body as the client sent it, as in "messages[2].content".
//   - Text is text that can go to a model: no NUL, no half of a surrogate pair.
//   - Decoding takes time and memory in proportion to the body: objects have at
//     most [MaxMembers] members where their field does not say otherwise, unknown
//     values nest at most [MaxDepth] deep.
//
// A function that reads a nested value calls [Decoder.Object] or [Decoder.List],
// and reads each value that it is given to its end: with one of the methods that
// return a plain value, with Object or List again, or with [Decoder.Skip],
// [Decoder.Raw] or [Decoder.Unknown]. After an error it returns it at once.
package strict
