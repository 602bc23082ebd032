// Package mcp makes tools of other makers usable: programs that speak the Model Context
// Protocol over their standard streams. It owns the connection to such a server, the
// check of what the server says of its tools, and the way of a call there and back. It
// owns no sandbox and no judgement: a server runs in the agent's box like any command,
// and its tools stand behind the guard like all others. No server is started unless the
// person has named it.
//
// A server and its agent are the same user in the same box: there is no wall between
// them, and a server keeps no secret from its agent.
//
// # What holds
//
//   - A server is a stranger. What it says of its tools is checked before a model is told
//     of it, and is told as the server's words, on one line. A name, a description or a
//     schema that is out of bounds refuses the whole server (ErrRefused).
//   - Results are text for the agent and nothing else: they ask for nothing, and what is
//     not text is only named.
//   - The tools are those of the first start, for ever: they are a part of the prompt's
//     beginning, and were shown to the person. A server that has others after a restart
//     is refused.
//   - A call is made at most once. One whose server died meanwhile ends as interrupted.
//   - A server that died is started again by the next call, once; if it dies again before
//     it has answered one, it stays dead, and every call says so and why.
//   - A call that is cancelled or late ends with its server: a stranger's word that it
//     stopped would be worth nothing. The next call starts it again.
//   - What a server writes is bounded: a message, all messages between two calls, and
//     what is kept of its standard error for messages about its end.
//
// Everything may be called from any goroutine. cmd starts servers when it puts an agent
// together, and closes them before the box.
package mcp
