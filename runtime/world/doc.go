// Package world carries out what a run decided (package swarm): agents that work in
// boxes on branches of their own, checks in fresh boxes, landings on main, letters. It
// owns where things lie on the disk, what an agent of a role is told and may do, and how
// a box's changes become a commit. It decides nothing about tasks.
//
//	Work:  thread --> checkout of main --> box --> agent.Run --> harvest --> commit
//	Check: commit --> checkout --> fresh box --> command's end
//	Land:  commit --> landing job --> main, or a conflict
//
// # What holds
//
//   - Each method may be called again after a crash with the same arguments: an agent
//     goes on at its turn, in the files that it left; a commit that landed is found to
//     have landed; a letter is there once.
//   - A thread is one agent's work on one task: its conversation, its box's folder and
//     its branch begin together, and all are found again by what the log says.
//   - What agents can influence runs in boxes: their tools, and every check.
//   - Of a planner's children only summaries reach it; of other agents only messages,
//     with their sender.
//
// Everything may be called from any goroutine. cmd wires it up.
package world
