// Package swarm is who works on what: the tree of tasks of one run, the agents that
// work on them, and every decision about both. It owns the stream "swarm" of the log.
// It owns no agent's conversation (package agent), no tool, no repository, no sandbox
// and no model: what has to be done outside is an Effect, and a World carries it out.
//
//	events --> State --> Plan(state, now) --> effects
//	  ^                                         |  decisions: appended at once
//	  '--- results <-- World <------------------'  works: carried out in their own goroutines
//
// # A task
//
//	waiting -> leased -> reported -> [judging] -> accepted -> landed -> ended: done
//	   ^                    |           |            |'-> conflict -> a merge task
//	   '---- returned <-----'-----------'------------'
//
// A plan task has no commit: its planner reports, rests while children are open, is
// asked again when they have ended, and is done when its check passes on main. The
// root is done when the run's check passes on a clean checkout of main.
//
// # What holds
//
//   - State is made of the stream's events alone, and of what Pulse told it of turns.
//     Plan is pure: the same state and time give the same effects in the same order.
//   - Every decision is an event before anything comes of it. A process that dies loses
//     none; the next one folds the log and plans again.
//   - A task has one lease at a time, numbered by its epoch. What an old epoch says is
//     dropped.
//   - No task without a check is taken in, and no agent's word ends one: the harness
//     runs the check.
//   - Nothing but the root starts before the plan is approved.
//   - What is parked or has ended gets no effects; nor does anything after the run has
//     finished, until it is extended.
//
// State is owned by one goroutine: Apply changes it in place, since copying a tree of
// 2,500 tasks for every event would cost more than the work. The coordinator owns the
// one that decides; whoever shows a run folds another from the log. The methods of
// Coordinator may be called from any goroutine. cmd wires it up.
package swarm
