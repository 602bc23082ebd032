// Package land is the landing job: the one that moves main. It owns which change
// goes onto main next and by which way, who is told to wait or to settle a
// conflict, which files are blocked, and the ref green, which follows main where
// the checks pass. It owns no objects (package vcs keeps them), does not merge
// texts itself (package merge does), runs no agents and no checks: a check's
// runner is an interface.
//
// # A landing
//
// An agent asks with Land for a commit of its branch. One goroutine, the loop,
// takes what has gathered, makes a merge commit for each on top of the last one,
// and hands all to the store in one batch. A change goes the cheapest way it can:
//
//	splice  main still has what the change started from: put the new entries in
//	lines   both changed a text: merge by lines
//	split   the file was split meanwhile: carry the change to where its lines went
//	git     renames, folders in the way of files, several bases: git's own merge
//
// What none can do is a Conflict: data, for a neutral agent that wrote neither
// side. Nothing of it is on main.
//
// # What holds
//
//   - main moves by merge commits of the landing job only; each has main before
//     it as first parent and the agent's commit as second.
//   - main never holds conflict markers: changes that bring some are refused, and
//     no way above writes any.
//   - A landing is on main as a whole or not at all, and durable when Land returns.
//   - Nobody loses a path for ever: who lost twice gets it to itself for a while.
//   - Counters are a fold over events (Event); a log of them gives the same again.
//
// Decisions (Turns, Hot, Breaker, Follow) are pure and know no clock. Land and the
// other methods of Lander may be called from any goroutine; cmd wires it up.
package land
