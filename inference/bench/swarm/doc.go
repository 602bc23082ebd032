// Package swarm measures a server from the outside while it serves a team of
// agents: many conversations that share a long system prompt, think in short
// answers and wait for tools. It speaks to any OpenAI-compatible endpoint.
//
// It owns the shape of the load, the client that stamps when tokens arrive, and
// the arithmetic on what it saw. It does not own servers: cmd/dure starts and
// stops them, chooses the figures and prints the tables.
//
// Invariants:
//   - The text of a load follows from its seed alone, and is another one for
//     each agent, turn and scenario.
//   - A figure that the server does not tell is absent, never guessed; one that
//     is computed another way than usual says how.
//   - Nothing runs for ever: each request ends when the server is silent for too
//     long or sends more than was asked for, and a run ends with its context and
//     then returns what it saw until there.
//   - What a server refuses, drops or garbles is counted by kind.
//
// A scenario ([Run], [Gap], [Resume]) is called from one goroutine and ends all
// goroutines that it starts. Only cmd/dure imports the package.
package swarm
