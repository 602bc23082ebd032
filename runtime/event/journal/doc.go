// Package journal is what all stores of an event log share: the queue of appends
// and the goroutine that commits them in groups, the decision who wins a race, the
// paged readers, the followers' bell, and the order of closing. It owns no storage:
// a store is a Backend.
//
// # One append
//
//	Append --> check --> queue --> committer --> Backend.Commit --> bell
//	                     bounded   takes all         one transaction,   wakes who
//	                               that wait         one flush          follows
//
// The committer is one goroutine. While a transaction is flushed to the disk the
// appends behind it gather, and the next transaction takes them all (up to
// maxGroup): the more writers, the larger the groups. Nobody is made to wait for a
// group to fill.
//
// Within a transaction, Group.Assign decides: it is given where the log and the
// streams end, and says which appends win, which lose, and which events get which
// sequence and position. It is pure.
//
// # One reader
//
// A reader asks the backend for pages and holds one at a time; between pages no
// transaction is open, so that a slow reader blocks nobody. It checks that no
// number is missing. A follower that has read everything waits for the bell, which
// rings for the streams that were appended to; appends of other processes ring it
// through Backend.Watch.
//
// Only stores import this package.
package journal
