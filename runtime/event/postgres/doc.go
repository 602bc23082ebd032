// Package postgres keeps an event log in a PostgreSQL database (14 or later), in a
// schema of its own. It owns the schema and its connections; what an append means
// is package journal's.
//
// # One order
//
// A serial number would not do: who draws the smaller one may commit later, and a
// reader that has passed the larger one never sees it. Here the last position is a
// row, dure_event.head, that each group locks before it draws its positions and
// holds until it is committed. Groups are therefore committed in the order of their
// positions, a group that is rolled back gives its positions back, and whoever sees
// a position sees all before it. Within one process the committer makes one group
// of all appends that wait, so that the lock costs nothing; between processes it is
// the queue.
//
// A process that stops in the middle of a group holds the others up until the
// server ends its session (idleLimit).
//
// # What is durable
//
// synchronous_commit is turned on in the sessions that append if the server has it
// off; a server with fsync=off is refused. A connection that breaks while a group
// is being committed leaves its outcome open: the store connects again, waits for
// the lock, which the old session holds until it is over, and looks whether the
// events are there. Only if that fails too is the outcome unknown to the caller.
//
// # Notice
//
// A group sends a notification with its transaction; each log listens on a
// connection of its own. It needs sessions: a pooler that hands out transactions
// does not do. A connection that goes silent is looked after every lookEvery.
//
// cmd opens a log; nobody else imports this package.
package postgres
