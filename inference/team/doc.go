// Package team is who runs what now: the requests that are being answered, by
// the agent that asks, and which agent started which.
//
// It owns that table and the stop of an agent with all below it. It does not own
// agents: it learns of them from requests (inference.Caller), starts none, and
// judges no name. A stop ends the requests that run or wait at that moment; those
// that come later are answered, because an agent may be started again. Whoever
// wants it to stay stopped must not start it.
//
// Invariants:
//   - The links from agent to parent have no cycle: a request whose parent is
//     below its own agent is refused.
//   - An agent that has no request stays known for [Keep] after its last one, and
//     as long as any agent below it, so that a stop finds its way down. At most
//     Limit agents are known at once: the one that is idle for longest gives way,
//     and a new one is refused where all have requests or agents below them.
//   - An agent changes its parent only while it has no request.
//   - A request that was stopped ends with agent_stopped and nothing else, also
//     where the model was done with it in the same moment.
//
// The table is behind one lock that is held for map accesses only. The wrapper of
// a model costs one atomic load an event.
//
// Callers: cmd/dure, which puts it between the surfaces and the models; any
// goroutine. It imports nothing of ours but the vocabulary.
package team
