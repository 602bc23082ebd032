// Package sqlite keeps an event log in one SQLite file. It owns the file, its
// schema and its connections; what an append means is package journal's.
//
// # The file
//
//	FILE        the database, in write-ahead mode
//	FILE-wal    what was committed last; a part of the log as long as it is there
//	FILE-shm    an index of it, remade when needed
//
// It must lie on a disk of this machine: write-ahead mode shares memory between
// processes. All are readable by their owner only. To copy a log, close it first or
// take all of FILE and FILE-wal at one moment.
//
// # What is durable
//
// Each group is one transaction with synchronous=FULL: the write-ahead file is
// flushed before Commit returns. Frames in it carry checksums, so that a group
// that was cut by a crash is as if it had never been begun. The database file is
// only written from flushed frames. When a flush fails, the group is not
// acknowledged and its frames are written over by the next one.
//
// # Connections
//
// One writes, owned by the committer; some read; one watches for other processes
// by a counter in shared memory, ten times a second while somebody follows. Readers
// hold a snapshot for the length of a page only, so that the write-ahead file can
// be folded into the database and stays small.
//
// cmd opens a log; nobody else imports this package.
package sqlite
