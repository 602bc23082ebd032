// Package builtin holds the tools that agents may have, and says which role has which
// (ForRole). Each is one Go file and one Markdown file, whose text is what models are
// told of it. It owns what they do; where they do it (a sandbox.Box) and whether they
// may (tool.Guard) is not its own, nor is what lies beyond the box: commits, tasks,
// messages, questions and verdicts are interfaces here, which cmd fills.
//
// # What holds
//
//   - Nothing of an agent's tree is touched from outside its box. The file tools run
//     small scripts inside, in which names are arguments and content is a stream.
//   - A file is replaced as a whole or not at all. What the agent has not seen is not
//     replaced: an edit, or writing over a file, is refused unless the file is what the
//     agent read last. What that was is noted in the box, so that it holds as long as
//     the box's files do, whatever happens to this program.
//   - Line breaks, a missing one at the end, and modes of files stay as they are.
//   - Every answer is bounded, says what was left out, and tells of a failure what to do
//     next.
//   - The texts and the order of a role's tools never change while a program runs: they
//     are the beginning of every prompt.
//
// A tool may be used by one agent at a time, as an agent calls it. cmd and package
// swarm put a set together for each agent.
package builtin
