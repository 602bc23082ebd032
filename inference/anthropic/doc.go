// Package anthropic is the HTTP surface that clients of Anthropic's API speak:
// decode a request, hand it to the front, encode what comes back.
//
// It owns the wire format of messages (content blocks, tools, thinking, the order of
// a stream's events, error objects). The door, the body, deadlines, streams and
// models are the front's. It decides nothing about the answer: it imports the front
// and the vocabulary only, and only cmd/dure builds it.
//
// What it makes of what Anthropic's API has and local models do not:
//
//   - Thinking is off where a request does not ask for it, as in that API.
//   - Blocks of thinking come with a signature that says nothing ([Signature]), and
//     come back with any: nothing is checked, because nothing is encrypted.
//   - cache_control pins what stands before the last message (inference.Caller's
//     PinPrefix), wherever in the request it is; prefixes are shared without it too.
//   - A result of a tool that is an error is a result whose text says so.
//   - Images, documents and the tools that Anthropic runs itself are refused by name.
//
// The shapes follow Anthropic's API reference for messages; where that leaves room,
// the stock clients decide.
package anthropic
