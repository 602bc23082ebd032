// Package kvcache decides what of a model's computed state is kept, where, and
// what a new prompt may reuse of it. It is the brain of the prefix store and
// nothing more: token ids and integers in, decisions out.
//
// # Tree, trunk and tiers
//
// Prompts of agents that work together begin alike. The tree holds every
// prompt once, cut where two of them part:
//
//	             tools + system, 2,000 tokens
//	root ────────────────────────────────────●  the trunk
//	                                         ├── task of agent 1 ──●── tool result ──●  seq 1, running
//	                                         ├── task of agent 2 ──●                    RAM, waits for a tool
//	                                         └── task of agent 3 ──●                    disk, since yesterday
//
// A node is a span of tokens. What was computed for a span is kept as copies,
// and a copy has a tier:
//
//	hot    cells of a sequence of the context: a slot, used as it is
//	RAM    an object: the rows of a span, or a recurrent state
//	disk   the same, and found again after a restart
//	gone   no copy: the tokens are read again
//
// A sequence holds its whole path from the root. An object holds one span, so
// that the trunk is stored once however many agents stand on it; to restore an
// agent, the objects of its path are put together, on top of what some other
// sequence already holds of it.
//
// A plain model can branch anywhere: rows of a span can be cut. A recurrent or
// hybrid one (Config.Checkpoints) also needs its recurrent state at exactly the
// branch point, which is a sequence that stands there or an object made there
// (Checkpoint). Those are made at marks: the places where agents branch.
//
// # Who calls it, and how
//
// The goroutine that owns a model's context, and nobody else: a Tree has no
// lock. Per request:
//
//	Acquire   what is there, which slot, how many tokens are reused
//	Extend    tokens that now are in the cache
//	Checkpoint  at each of Plan.Stops
//	Release   the sequence stays where it is, as a copy, until it must go
//
// The tree never acts. It queues actions; the owner takes them with Next,
// carries them out, and tells Done. A request may be computed once its plan is
// Ready. Actions on the engine are carried out at once; those on disk may take
// their time while others go on.
//
// Every decision is entered in the ledger when it is made: room is reserved
// before it is filled, counted until it is really free, and what an action
// reads is held until Done. So a failed action, or none at all because the
// process died, leaves a ledger that adds up. A new process starts from the
// objects that lie complete on disk (Adopt).
//
// # What goes first
//
// Each tier has a budget. When room is short, the copy with the lowest
//
//	(nanoseconds of prefill saved x likelihood of reuse) / bytes
//
// goes one tier down, or away (value.go). On disk objects are coded smaller first, with
// more loss, as far as Config.Smaller lets them (smaller.go). The likelihood is an estimate:
// (1 + times reused), halved every Cost.HalfLife ticks without use, times a
// factor for what is known of the session that ends there. Both logarithms fall
// at the same rate for all, so an order once made stays right and the choice
// costs O(log n). A copy on which another rests goes after it; a pinned prefix
// keeps one copy; what a lease uses stays.
//
// # Invariants (Check)
//
//   - Children of a node begin with different tokens; no node is empty; a node
//     that holds, covers and leads to nothing does not exist.
//   - used bytes of a tier = live + leaving + reserved - room that a leaving
//     object passes on; never above the budget but for what Stats.Over reports.
//   - used cells = distinct spans of hot copies + what leases may still fill.
//   - A sequence is on every node of its path, in one copy each, and nowhere else.
//   - Every object rests on a path that is covered by copies down to the root.
//   - A reused prefix was compared token by token; there are no hashes.
//
// # Costs
//
// Lookup and insertion: O(tokens). Acquire without eviction: O(tokens + nodes of
// the path + slots). Choosing an object to evict: O(log n) amortised, plus the
// nodes it covers. Choosing a sequence to evict: O(slots x nodes of its path).
// Choosing an object to code smaller: O(objects), where Config.Smaller allows any.
package kvcache
