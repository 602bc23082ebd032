// Package harvest reads what an agent changed in its box, as a tree for a commit. It
// owns how files of a folder that somebody else writes to become objects: what is taken,
// what is left out and said, and what is refused. It makes no commit, and moves nothing.
//
//	upper layer of an overlay, or a whole tree --> changes --> tree on top of the base
//
// # What holds
//
//   - What lies in the folder is never trusted: nothing outside of it is read, however
//     its links lead; what is no file, folder or link is named and left out; a file that
//     is larger than a commit takes is refused.
//   - The tree is the base with the agent's changes: what the agent did not touch has
//     the same objects as before.
//   - Files that the base does not have and that the agent's own rules ignore are left
//     out; files of the base never are.
//
// The folder must rest: no command of its box may run. Package world calls it.
package harvest
