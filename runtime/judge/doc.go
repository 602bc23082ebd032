// Package judge decides about calls of tools before they are carried out. Rules
// (rules.yaml) say what speaks against a call: data over what it would do, which
// package-internal readers find in its text. What is known as ordinary inside the work
// (ordinary.yaml) says what speaks for it: a call is let through only when each of its
// acts is understood and found there. The rest is open: a model with a small context of
// its own is asked, where there is one, and without one the call is refused.
//
// It owns the rules, the reading of commands and files, and the question to the model. It
// does not own what follows from a verdict (packages tool and gate), and it is not the
// wall: the sandbox holds whatever a judge misses.
//
// # Verdicts
//
//	allow    nothing speaks against it, and all of it is ordinary; some is noted for
//	         monitors
//	refuse   it cannot work here, has a better way, or is open and nobody can be asked;
//	         the agent is told which, writes it otherwise, and the team goes on
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
