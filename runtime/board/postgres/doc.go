// Package postgres keeps a board's tables in the PostgreSQL database (14 or later)
// that holds the event log, in schemas of its own: board, which agents see, dure_sql,
// functions that stand in for some of the server's, and dure_board, which agents do
// not see. It owns the schemas, two roles, its connections and
// the limits of a statement; what all stores share is package desk's.
//
// # One write
//
// Log and tables lie in one database, so that one transaction holds both: the
// statements, their events, and what is counted. There is no moment at which one has
// what the other lacks, and nothing to catch up with after a crash.
//
// One goroutine carries out writes, in groups: those that wait are one transaction with
// one append and one flush, and are answered when it is committed. Each runs in a
// savepoint with settings and prepared statements set back and with limits of its own;
// one that fails leaves nothing and is answered by itself. One that cannot share runs
// alone: a large write, one of an agent that has met its quota, one of which it is not
// certain which tables it touches (as the first of a group at best, since the server
// tells that of whole transactions), and all of a group that could not be appended. One
// that takes longer than a moment is broken off and runs again on a session of its own
// beside the groups. It may hold a lock meanwhile: an insert draws its id behind a lock
// on its table that is held to the end, so that ids have the order of the log. A group
// waits a few milliseconds for such a lock; then those that want it are put aside until
// it is free, and the others go on. Only the end of a transaction waits for the lock on
// the log's end. Tables that are behind the log all the same (they were made anew) are
// folded from it when they are opened.
//
// A trigger tells the gateway of each row, before and after, as a notice on the
// session's own connection: nothing is written twice, the gateway counts bytes while
// they come, and board.Table.Judge, the same as in the other store, sees every row
// before the transaction may commit.
//
// # What holds an agent's statement
//
// Three lines, each enough by itself for most of what an agent could try:
//
//   - Form. The text is sent as PREPARE name AS text, in the protocol that takes one
//     statement a message. The server's own grammar allows there a SELECT, VALUES,
//     INSERT, UPDATE, DELETE or MERGE and nothing else: no SET, DO, COPY, LOCK,
//     transaction, DDL.
//   - Privileges. The session has logged in as a role that owns nothing and is a
//     member of nothing: there is no role to go back to. It may use the columns of
//     the agents' tables that are not stamped, and functions of a list; PUBLIC has
//     lost all others, set_config, pg_sleep, large objects, files and the catalogue
//     among them. Row-level security and triggers keep rows with their writers.
//   - The gateway. It judges what was changed, counts, and rolls back.
//
// One role serves all agents of a board. A role for each would need a session for
// each (a thousand processes), or SET ROLE, which is a setting like the one that
// names the agent here and no harder to change. That setting, dure.speaker, can be
// changed by nothing that passes the first two lines; and if it were, the rows that
// the gateway sees would not be the agent's whose gateway it is.
//
// # Limits
//
// The gateway ends a statement, by the protocol's cancel, when its time is over, when
// its caller has gone, or when its process has grown beyond Limits.Heap; the last
// needs the server to be on this machine, and its absence is logged. A statement that
// is not done in a moment starts again among the slow ones, so that those do not hold
// up the others. Some of the server's functions hear no cancel within a step that can
// take hours; agents have them for short texts only, or not at all. A step that is
// not heard from for a while has its connection cut. The session's own settings (statement_timeout, temp_file_limit,
// work_mem and others) come from its role and are set back before each statement.
//
// Opening a board takes a superuser, who alone can take functions from PUBLIC; the
// database is to be the board's own. Each opening looks whether the agents' role can
// do anything that it should not, takes that from it, and refuses what it cannot.
//
// cmd opens a board; nobody else imports this package.
package postgres
