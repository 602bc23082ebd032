// Package judge decides about calls of tools before they are carried out. Rules come
// first: data (rules.yaml) over what a call would do, which package-internal readers
// find in the text of a command. What they leave open goes to a model with a small
// context of its own, where there is one.
//
// It owns the rules, the reading of commands and the question to the model. It does
// not own what follows from a verdict (packages tool and gate), and it is not the
// wall: the sandbox holds whatever a judge misses.
//
// # Verdicts
//
//	allow    nothing speaks against it; some of it is noted for monitors
//	refuse   it cannot work here, or has a better way; the agent is told which, and the
//	         team goes on. What ordinary work often tries and the sandbox would not let
//	         through anyway: sudo, installing packages, piping a download into a shell
//	block    it would harm, take what is not the agent's, hide what it does, or give
//	         orders to other agents; the whole team stops until a person has looked
//
// # What holds
//
//   - Rules are pure: the same call has the same verdict.
//   - A command is judged as the shell would read it, not as it looks: quotes, variables
//     with known values, substitutions of printf, echo, base64 and the like are carried
//     out; code in sh -c, eval, xargs, heredocs and pipes into shells is read in turn.
//   - What cannot be known counts as unknown and never as harmless text.
//   - Reading has bounds; a command beyond them is refused, not passed.
//   - Every rule has a text for the agent and the person.
//
// Everything may be called from any goroutine. cmd makes one judge per team.
package judge
