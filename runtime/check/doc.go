// Package check runs a check command over a clean checkout of a commit, in a box of
// its own. It owns what a check is given and how its end is read: it is the Checker
// that the landing job's ref green follows. It decides nothing about commits, and
// keeps nothing of what a check writes.
//
// # What holds
//
//   - The command sees the files of the commit, the machine's programs, and what
//     Options.Mounts show; it has no socket, no network and an empty home. What it
//     writes, wherever that is, is gone when it ends.
//   - Passed is an exit code of 0 and nothing else. A command that was ended by a limit
//     has failed, and Output says by which.
//   - No result is an error, never a failure: the box could not be made or went away,
//     the commit could not be read, the context ended.
//
// Checks may run at once, each in its own box. Package land calls it through its
// interface; cmd wires it.
package check
