// Package clause makes speech of text: it cuts an answer that is still being written into
// clauses that can be spoken one by one, and writes a clause the way it is said, numbers in
// words. It is pure, knows Latin scripts, Chinese, Japanese and Korean, and imports nothing
// of ours. The turn machine cuts; the voice session rewrites before synthesis.
//
// Nothing of the text is lost: the clauses joined are the text, but for white space at
// their ends.
package clause
