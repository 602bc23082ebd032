// Package sched decides what a model computes next: who gets a sequence, which
// sequences decode, which chunk of which prompt is read, who waits for whom, and
// who gives way. It is pure: integers in, decisions out; no engine, clock, lock or
// goroutine. The goroutine that owns a model's context (package llm) calls it,
// and nobody else.
//
// # A request's way
//
//	Add ──> waiting ──Candidate──> there is room? ──yes──> Admit ──> running: reads its prompt, then decodes
//	           ^                         │ no                              │               │
//	           │                        Full ──> park a victim, or wait    │               │
//	           └──────────────────────────────────────────────── Park <────┴───────────────┴──> Remove
//
// Each round the owner asks: Expired (end those), Candidate until nobody is named
// (place each, or tell Full), Preempt where it parks for urgent requests, Next,
// then computes, and tells Read and Decoded. WaitUntil bounds its sleep.
//
// # Who is placed next
//
// The best class, where a request is raised by one for each Limits.Age it waited,
// up to Planner: a person's request is not made to queue behind everybody who is
// old. Within a class the agent that was served least (fair.go), then the earliest
// deadline, then arrival. Bound: every fourth placement at least goes to the one
// that waits longest and has waited for Age; with k older ones a request gets its
// slot within 4 x (k+1) placements.
//
// # Who waits for a leader
//
// A waiting request that begins like one that is running and still reads waits
// for it (its leader), if the leader is about to read at least Limits.Group
// tokens that it needs too. When the leader has read them they are in the cache,
// and it is placed. So of those that arrive together the first becomes leader by
// being placed, the others wait, and what they share is computed once. Of a
// recurrent model only the stops of the leader count, since others can branch
// nowhere else.
//
// Nobody waits in vain: a leader is read in the class of its most urgent follower
// and before others of that class; its end or parking frees them; one that is
// held (being fetched) for Age/4 is waited for no longer; a request has at most 8
// leaders. Lengths in common are computed once per pair, and looked at when a
// request arrives, begins to run, has read far enough or leaves, not each step.
//
// # When there is no room
//
// Full names a running request of a lower class to park, or one of any class whose
// reader is slow (it computes nothing meanwhile; Preempt parks such ones for others
// too), or makes the one that found no room wait for the next room event (Remove, Park, Room). Others may
// pass it: 4 of its class or worse, 16 of a better one (or a mixture). Then it is
// a barrier: nobody is placed before it, nor parks it before it generated 32
// tokens. Between two room events at most 2 per
// class are refused. While nothing runs each is tried once, a barrier first: who
// finds no room then, and waits for no action of the cache, never will: the owner
// ends it, or calls Room when the cache has made some.
//
// When running requests need more cells than there are, Victim names who gives
// way: the oldest of the best class never does, and nobody for a less urgent one. A parked one keeps its arrival,
// waits for a room event, and is then safe from Full and Preempt until it
// generated 32 tokens, twice as many each time it was parked, up to 1,024.
// Victim takes such a one only where its class has no other.
//
// # What a step computes
//
// One token for every running stream whose prompt is read, then one chunk of one
// prompt: of the best class, leaders first, then the shortest rest. Bound: with m
// prompts being read each gets a chunk at least every 5 x m chunks. The size of
// the chunk keeps the time between two tokens of a stream below the target
// (cost.go, line.go): chunk time <= gap - step, as measured, but never below MinChunk. With
// no stream running it is Limits.Chunk.
//
// # Invariants (Check)
//
//   - A request is waiting or running, never both; at most Slots run, in slots of
//     their own; at most Slots + Queue are alive.
//   - Whoever follows does so for a running request that reads, and shares with it
//     what it waits for; the leader lists it, and has not read so far yet.
//   - While a slot is free and somebody waits, Candidate names one, or each of
//     them has a slow reader, follows a leader, waits for room that a running
//     request will release, or was refused while nothing runs (the tests check it).
//   - No agent's account lies below the floor at which newcomers start.
//
// # Costs
//
// Next: O(slots). Candidate: O(waiting), O(slots) where nothing changed since it
// found nobody. Add: O(slots x shared tokens). Admit: O(waiting x shared tokens).
// Read: O(followers it frees x slots).
package sched
