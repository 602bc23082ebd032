// Package checkout makes folders of trees: what a sandbox stands on. It owns one
// folder, and in it a file for each content and a folder for each tree; it knows no
// branches, and never reads changes back.
//
//	blobs/ab/cdef...-x   a content, executable or not
//	trees/0123...        a tree, of hard links to contents, and of its symbolic links
//
// So a second tree costs what is different in it. What has been made is shared by all
// who ask for it and must never be written to: sandboxes lay their changes above it.
// Times of files say nothing.
//
// # What holds
//
//   - A tree appears whole or not at all, always at the same path.
//   - Nothing is written outside of the tree's own folder: names that must not be in a
//     tree are refused, and links are made, never followed.
//   - A few bytes of objects can describe any number of files: Limits bound them.
//   - A tree stays while somebody holds it; others go when there are more than
//     Options.Keep.
//   - It is a cache: Open begins with nothing.
//
// Everything may be called from any goroutine. Runtime packages and cmd call it.
package checkout
