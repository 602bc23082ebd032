// Package patches is a task for tests of a whole team: a small library in shell with
// sixty patches to be made, some of which go wrong in known ways. It owns the library
// as it begins and as it must end, the tasks with their checks, a script by which agents
// carry them out (package scripted), and which mechanism must catch each fault. It runs
// nothing. Only tests and benchmarks import it.
//
// # What goes wrong
//
//	fault       what happens                                     caught by
//	bad patch   a wrong number; it is mended when it comes back   the task's check
//	early done  done is said before anything was done             the task's check
//	stale base  two tasks change the same line                    a conflict and its merger
//	oversize    a file larger than a commit takes                 the limit of a file
//	runaway     a command that never ends                         the time limit of a call
//
// # What holds
//
//   - The end does not depend on order: patches touch files of their own, or lines of
//     their own of one file, and where two change the same line the larger value stays,
//     whoever comes first and whether a merger is asked or not.
//   - Set.Check, the hidden check, passes on that tree and on no other: what tasks are
//     told to check are single values, it asks for others.
//   - Everything follows from Options. Seed changes order and latencies, never the end.
package patches
