// Package gate is the stop that stops the whole team. Whatever an agent does passes
// it: before a call of a tool starts and before a model is asked, its caller enters,
// and while the gate is stopped it waits there. A call that the judge blocked, or a
// person, stops the gate; only a person opens it again.
//
// It owns who may go on, and the events that say so (stream "gate" of the log). It
// does not own why a call was blocked (package judge), and it runs nothing.
//
// # What holds
//
//   - From the moment that Block or Stop is called nobody enters, before anything is
//     written: a full disk cannot keep a stop from taking place.
//   - Who is inside when the gate stops goes on to the end of that one call; what it
//     did is in the log, and it waits at the next.
//   - Every block gets exactly one decision, and it outlives the process: a blocked
//     call is asked about once, however often its agent is restarted.
//   - State is made of the gate's events alone; Apply is pure.
//   - An ended gate stays ended.
//
// One process holds a gate; everything may be called from any goroutine. Agents and
// the tools' guard enter, cmd gives a person's decisions.
package gate
