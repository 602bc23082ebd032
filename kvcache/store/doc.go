// Package store holds the bytes of the objects that the prefix tree (package
// kvcache) decides about on disk, where they are found again after a restart. It knows tokens, lengths and bytes; what the bytes mean is package
// blob's, what is kept and what goes is the tree's.
//
// # Who calls it, and how
//
// The goroutine that owns a model's context, and nobody else. Of the tree's
// actions, Write, Restore and Drop become jobs of a Store:
//
//	s, found, err := Open(ctx, cfg)     lock, scan, put right
//	err = s.Start(tree.Adopt(found))    what the tree refused is deleted
//	...
//	ok := s.Submit(Job{...})            never blocks; false = the queue is full
//	c := <-s.Done()                     exactly one for each accepted job
//
// Jobs run on the store's own goroutines. Reads go before drops and writes, and
// one goroutine is kept free of writes, so that a restore does not wait for a
// file to be flushed. The owner must go on receiving from Done; until it does,
// finished jobs count as queued ones. After Close nothing is received any more.
//
// # A folder
//
//	lock           held while the store is open (flock)
//	00000000000004d2.kv
//	00000000000004d3.tmp     being written; removed by Open
//	refused/000007-damaged-00000000000004d2.kv
//
// A file is one object and never changes: it is written under a temporary name,
// flushed, renamed, and the folder flushed. A completed Write is on the disk.
// A Drop only removes the name; should a crash undo that, the object is found
// again and is as good as ever.
//
// # A file
//
//	magic, version, length of the header
//	identity: hash and text
//	from, to, state?, quality class, last use
//	of version 2: fingerprint of the basis, size of the object
//	hash of the tokens [0, from), tokens [from, to), hash of the tokens [0, to)
//	table of blocks: length, coded length, codec, record, two checksums
//	hash of the header
//	blocks, one after the other, to the end of the file
//
// A file of version 1 has the object's bytes in its blocks, coded without loss
// block by block. One of version 2 has what package codec made of the object, in
// the class of loss that Config or the Job asked for; its blocks are stored as
// they are. Each is written where it says enough: a Config without a class writes
// version 1. Both are read in any case, and whoever reads is told the class. What
// is no state, or would not get smaller, is written as version 1, exact.
//
// Change codes an object anew with more loss. There is no way back, and losses
// add: an object that was read from a lossy file and is written again has lost
// twice.
//
// The tokens of what an object rests on are not repeated. Open puts paths
// together again: of all files it is known which hash their paths have at each
// position that another file begins at, and the whole path must have the hash
// that the file says.
//
// # What is refused
//
// Files of another identity, cut short, or with a bit that changed are moved to
// refused/ and counted by reason; the folder is bounded and the oldest go. Files
// of a later version are counted and stay as they are, for the program that wrote
// them: neither read, nor written over, nor removed. Files whose ground is missing are of no use to anybody and are
// removed, and counted. Open looks at headers only. What is in the blocks is
// verified whenever it is read: a bad file is set aside then, and the completion
// says ErrBad. It costs a re-read of the tokens, never a wrong answer.
//
// Three checks make that so. The header has a SHA-256: it is small, and decides
// what the bytes are taken for. Each coded block has a CRC-32C, checked before a
// decoder sees it, and each decoded block a CRC-32 (IEEE). Both are computed in
// hardware at many GB/s, where a SHA-256 of everything would take longer than
// reading it. Each notices every change of up to three bits and every burst of
// 32 in a block; the polynomials are different ones, so that what happens to
// pass one is not what passes the other; and the second also covers the codec.
//
// # Invariants
//
//   - Files, and what is being written, never take more than Config.Budget;
//     refused/ never more than its own. Files of a later version are beside both.
//   - Nothing is half there: a Write that fails leaves no file.
//   - No input makes the reader panic or allocate more than a fixed multiple of
//     the file's size.
//   - One process has a folder at a time (ErrLocked).
//   - The index belongs to one goroutine of the store; there is no lock.
package store
