// Package merge joins two changes of one base: of a text by lines, and of a tree
// by paths. It owns the comparison of texts (Diff), the three-way merge of texts
// (Text), what a line map does to a waiting change (Carry), and the decision per
// path (Entries). It owns no objects, refs or files: callers bring bytes and tree
// entries, and get ranges, bytes and decisions back.
//
// # What a merge answers
//
// A merged text is a list of hunks, each a range of lines of base, ours and
// theirs. Conflicts are hunks too: data for whoever resolves them. Markers exist
// in one place only, Render, which people and tests read; Bytes never has any.
//
// The answers are those of `git merge-file` of the same texts, byte for byte,
// since people check with git what this package did: what lines are kept out of
// the comparison, when a search for the shortest edit gives up, to which side a
// movable change slides, and which conflicts are cut down or joined. Where git's
// rule is a rule of thumb, so is this one; comments say what it is good for.
//
// # What holds
//
//   - Lines are bytes up to and with their "\n". Nothing is normalised: carriage
//     returns, a missing last newline and bytes that are no UTF-8 stay as they are.
//   - The merge of a side with the base is that other side, byte for byte.
//   - Memory grows with the number of lines and bytes, never with their product.
//   - Time is bounded: work is counted, and a text that needs more than Limits
//     allows is refused with ErrTooLarge. Texts with NUL bytes near the beginning
//     are refused with ErrBinary, as git does.
//
// Everything here is pure and may be called from any goroutine. The landing job
// (package land) calls it, and whoever shows a conflict to a person or an agent.
package merge
