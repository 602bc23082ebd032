// Package turn decides a spoken conversation: who speaks, when a person's turn ends, when
// an answer begins, is cut or goes on, and what the conversation then holds. It is pure:
//
//	state, effects = Next(state, now, event)
//
// with no goroutine, clock, lock, sound or model. Sound is counted, never held. The
// goroutine that owns a session (package voice) calls it, carries the effects out in their
// order, and tells what came of them as events. Next changes nothing of the state that it
// is given.
//
// What always holds (Check says it in code):
//
//   - at most one response of the conversation is active; responses out of band are
//     counted apart
//   - every ResponseCreated is followed by exactly one ResponseDone, and by nothing of
//     that response after it
//   - items are in the order of the conversation; what is emitted of an answer is at most
//     what was synthesised; sent + dropped = synthesised when it ends
//   - the epoch never falls, and rises whenever sound that was under way became void
//   - every event of a client has an effect: what it asked for, or a Failed notice
//   - what a responder is told was said by the assistant is what the person heard
package turn
