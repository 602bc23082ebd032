// Package scripted is a model that answers from a script instead of thinking: an
// inference.Model in this process, and the same behind HTTP for any OpenAI client. With
// it a whole swarm can be run, killed, resumed and counted without a GPU, and each run
// is the same as the one before.
//
// It owns scripts (Script, Decode), the choice of an answer, exact usage, a simulated
// prefix cache, and faults that happen where a script says so. It owns no agents, tools
// or tasks, and no judgement of what they do with an answer. cmd/dure uses a Model for
// `dure swarm run --script`, tests use it and Handler. It imports nothing of ours but
// the vocabulary.
//
// # A script
//
//	name: scripted            # of the model; this is the default
//	latency: 200ms            # before each answer; this is the default
//	sequences: 8              # answers at a time, the others queue; 0: any number
//	queue: 64                 # that may wait, the next is refused; 0: any number
//	cache:                    # see below
//	  {slots: 8, bytes: 8000000000, kv_bytes: 32768, state_bytes: 157286400}
//	parts:
//	  - name: parser          # for messages; every part has one
//	    role: worker          # lead, planner, worker, judge, merger
//	    task: parser          # the slug in the line "task: parser" of the task
//	    turns:
//	      - think: The test says what is missing.
//	        text: I look first.
//	        calls:
//	          - {tool: shell, arguments: {command: cat parser.sh}}
//	      - name: finish
//	        calls: [{tool: done, arguments: {summary: written}}]
//	        next:
//	          - {if: 'FAIL: empty line', go: mend}
//	      - name: mend
//	        calls: [{tool: shell, arguments: {command: "echo '[ -n \"$1\" ]' >> parser.sh"}}]
//	        next: [{go: finish}]
//
// Unknown keys, second documents, expressions that are none and turns that nobody
// defines are errors. Expressions are RE2.
//
// # Which part
//
// The first that fits, all of what it gives: agent (its name), role, task, system (an
// expression for the system's text), match (one for the task). The role is that of the
// first line "role: NAME" or "You are a NAME" in the system's text; the task is what
// stands between it and the first answer, and its slug the first line "task: SLUG". A
// user's message with another task's line begins anew, for an agent that gets one task
// after the other in one conversation. A request that no part fits is an error that says
// what was looked for.
//
// # Which turn
//
// The conversation says: beginning with the first turn, each answer in it is one that
// was played, and what was said after that (results of tools, messages) chooses the next
// by the turn's next: the first whose expression fits, or has none; else the turn below.
// So nothing is kept between two requests, and a process that begins anew gives the same
// answers. Turns that a conversation has forgotten, by compaction, are not counted. A
// conversation that goes on after the last turn is an error.
//
// An aside is an answer out of turn, to a question that a person asks beside the work:
//
//	asides: [{match: 'How far', text: Nearly there.}]
//
// It answers a request whose last message is a user's and fits match, and no turn
// passes.
//
// With fill: true, {{agent}}, {{task}}, {{turn}} and the named groups of match in texts
// and arguments are replaced by what they are in this conversation.
//
// # Calls
//
// A call has tool and arguments (texts), or raw, the text of its arguments as it is, for
// one that is no JSON or has more than texts. A tool that the request does not offer is
// an error, since scripts are mistyped more often than they mean it; stray: true means it.
//
// # Usage
//
// A token is four bytes. A prompt is rendered as its tools and messages, names and
// arguments of calls included, their IDs not; what is left of four counts as one.
//
// Cached tokens, without cache: what stood in the conversation up to its last answer,
// since that was computed for the turn before. They depend on the request alone, and
// are the same after a restart. With cache: what is held of the prompt in a simulated
// server, which keeps the last slots conversations and what they share once, within
// bytes, at kv_bytes for a token and state_bytes for a recurrent state; where states
// cost anything, a prompt can only be resumed where one was kept: at the end of a
// conversation, and behind its system's text.
//
// # Faults
//
// A turn's fault happens the first times that its request is made, in one process; once
// is the default. Then the turn is played as it is.
//
//	{kind: stall, for: 5s}                    silence, then the answer; without for: for ever
//	{kind: error, status: 500, times: 2}      no answer
//	{kind: busy, retry_after: 3s}             status 429
//	{kind: cut}                               the stream breaks in the middle
//
// In this process an error of status 503 is runner_lost, others internal_error, a busy
// one queue_full, and a cut runner_lost. An answer that was meant as a call and cannot
// be read as one is garbage: TEXT of a turn, instead of calls: it is told as text, and
// in this process with the warning tool_parse_error. A worker that says done too early
// is no fault of a server, only a turn that says so.
//
// # What holds
//
//   - The answer depends on the request alone; cached tokens with a cache, and times of
//     faults, also on earlier requests of this process.
//   - Nothing is cut: an answer longer than max_tokens allows is an error.
//   - Account adds up exactly what answers that ended told in their usage.
//
// Everything may be called from any goroutine.
package scripted
