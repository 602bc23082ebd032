// Package tool is how an agent acts: what a tool is, and what every call of one goes
// through. It owns the vocabulary (Spec, Call, Result, Tool), the limits put around a
// tool, and the guard in front of all of them: judge, gate, and a record in the log.
// It owns no tool (package builtin has them), no judgement (package judge) and no
// sandbox.
//
// # A call
//
//	agent -> Guard: arguments against the Spec -> Judge -> Gate -> tool.started -> Tool -> tool.ended
//	                                               |        |
//	                                     no verdict in time | stopped: waits
//	                                     = not carried out  | blocked: a person decides
//
// # What holds
//
//   - Nothing is carried out without a verdict that lies in the log before it. A
//     judge that fails, or is late, is no verdict.
//   - A call is carried out at most once, however often its agent or the process is
//     restarted: tool.started has an ID that comes from the call. A call that was
//     started and whose end is not in the log ends as interrupted, and its agent is
//     told that it may have happened. Only tools that say that doing the same call
//     again does no harm (Spec.Again) are carried out again.
//   - Judge, log and tool see one reading of a call. What models misspell is read as
//     what it must mean before the judge is asked (Spec.Parse), or refused.
//   - Every call ends with exactly one tool.ended, whose text is what the agent sees.
//   - A result has a bounded size; what is cut is said, and where the whole is.
//
// Everything may be called from any goroutine. Agents call the Guard; cmd puts tools,
// judge and gate together.
package tool
