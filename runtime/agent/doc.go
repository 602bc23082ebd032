// Package agent is one agent's turn loop: ask the model, carry out what it calls, ask
// again, until it says that it is done. It owns an agent's conversation, as events in
// the agent's stream of the log, and what others may say to it. It owns no tool, no
// judgement and no model: the guard (package tool) and an inference.Model do.
//
//	born -> [told]* -> asked: turned -> calls: tool.ended each -> [told]* -> ... -> ended -> [again] -> ...
//
// # What holds
//
//   - The conversation only grows at its end, so that a server can keep its state: the
//     role and the tools, then the task, then turns, results and messages. Where it
//     fills the model's window, older turns become a digest (compact.go); what all
//     prompts begin with keeps its bytes.
//   - It is made of the log alone. A process that dies goes on at the same turn: an
//     answer that was recorded is not asked for again, and a call that was carried out
//     is not carried out again.
//   - Nothing that others wrote is ever in the system's words, or can look like the
//     harness: their text comes with its sender, whom the harness knows, and each of
//     its lines is marked.
//   - An agent may have several conversations, its threads; what came back after its end
//     goes on in its own.
//   - State is pure: events in, messages and the next step out.
//
// One goroutine runs an agent; Run is its only loop.
package agent
