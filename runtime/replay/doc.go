// Package replay goes through a recorded run: what it was at each event, from its log
// alone, and whether that is what the program that ran it had. It owns the prints of a
// run's state, the seals that keep them in the log, and the comparison. It changes no run
// and decides nothing.
//
//	a run:     events --> State --> print after each event --> seal, every so often
//	a replay:  events --> State --> print after each event --> the same as in the seals?
//
// # Prints and seals
//
// The print of an event is 32 bits made of the print before it and of what the event
// changed: its task, its agents, and the run's counts. From the first event at which two
// programs fold a log differently, all their prints differ. A seal (stream "seal", type
// run.sealed) has the prints of the events since the last one, and a sum over the whole
// state at its end. It is written by who runs the run, of the state folded from the log.
//
// # What holds
//
//   - A Sealer folds the same log as the coordinator and tells it nothing: a run goes on
//     the same with or without one. Seals that are there when it begins are compared, and
//     the first difference is an error.
//   - A log without seals, of an earlier program say, can be replayed; that nothing was
//     compared is said.
//   - What the log's checksums refuse is an error that names the event.
//
// cmd runs a Sealer beside each run, and calls Player for `dure swarm replay`.
package replay
