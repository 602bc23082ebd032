// Package event is the swarm's memory: an append-only log of typed events, from
// which every table, counter and report is made. It owns the vocabulary (Event,
// Log, the errors), the register of event types and the fold of a log into a
// state. It owns no storage: packages sqlite and postgres keep a log, package
// journal is what they share, and eventtest is the suite that both pass.
//
// # A log
//
// Events belong to streams, and have a place in two orders:
//
//	Sequence   within the stream: 1, 2, 3, ... without holes
//	Position   among all events:  1, 2, 3, ... without holes
//
// What a reader has seen at a position stays so: no event ever appears at or
// before a position that some reader has passed. A reader that remembers one
// number has therefore lost nothing and sees nothing twice.
//
// # What holds
//
//   - Append is all or nothing, and durable when it returns without an error: it
//     outlives the process, the machine's power, and a full disk afterwards.
//   - Append names the sequence that it expects the stream to end at. Of those who
//     expect the same one, one wins and the others get a ConflictError that says
//     where the stream stands now.
//   - An append that failed with anything but ErrInvalid, ErrConflict,
//     ErrDuplicate, ErrClosed or ErrFull may have happened, or may yet. Doing it
//     again with the same event IDs is safe: ErrDuplicate says that it did happen.
//   - Events are never changed or removed. Payloads come back as the very bytes
//     that were given.
//   - Memory is bounded: readers hold a page of events, however slow they are, and
//     block no writer; writers beyond the queue wait in Append.
//
// Everything in this package may be called from any goroutine. cmd opens a log and
// hands it to the parts of the runtime; they know the interface only.
package event
