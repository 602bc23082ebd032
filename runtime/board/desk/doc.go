// Package desk is what every call of an agent passes, whatever store the tables are
// in: it makes a board.Board of a Backend. It owns the quota of calls, the bound on
// calls at once, the wait for a change, the parse of CREATE TABLE, and the account
// of what was done. It owns no table and runs no SQL; the limits of one statement
// are the backend's.
//
// # The account
//
// A call that changed something is counted by its event in the log. All others
// (reads, denials, mistakes) are gathered and appended to a stream of their own,
// as sums, while the last such append is under way: each waits for the append that
// holds it, so that whatever was answered is in the log. Now and then the sums of all
// of that stream are appended to a third; opening reads the last of these and what was
// appended to the second since, and the counts are the same as without.
//
// The stores import it; nobody else does.
package desk
