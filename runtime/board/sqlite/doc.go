// Package sqlite keeps a board's tables in one SQLite file beside the event log
// that they are folded from. It owns the file, its schema and connections, and the
// limits of a statement; what all stores share is package desk's.
//
// # The file
//
//	FILE, FILE-wal, FILE-shm   the tables; can be removed while no board is open, and are made anew from the log
//	FILE.lock                  held by the process that has the board open
//	FILE.changes/              changes of large writes, a file each: a part of the log, keep them with it
//
// # One write
//
// One goroutine owns the connection that writes. It runs the statements that wait,
// each in a savepoint, as one transaction; appends what they changed to the log, one
// event each; and commits the transaction, which also holds the sequence that the
// tables are now at. Statements that come together share a flush. A crash between
// append and commit leaves tables that are behind, never ahead: opening catches up.
// The file itself need not be flushed at each commit, only kept in order.
//
// A statement that takes longer than a moment is broken off, and run again by itself
// with its full time when nobody else waits, or has waited long enough, so that one
// agent's slow statement holds up the others for a part of the time only.
//
// # What holds an agent's statement
//
// Before it runs, SQLite's authorizer asks for every table, column and function that
// it names, and what is not on the list is denied. While it runs, a hook sees every
// row as it was and as it will be, and board.Table.Judge says whether this agent may
// do that: whatever the SQL looks like, there is no row that it does not see. Values,
// results, changes and memory are bounded, and time is looked at every 1,000 steps of
// SQLite's machine; functions that could take long within one step are replaced by
// such that do not.
//
// cmd opens a board; nobody else imports this package.
package sqlite
