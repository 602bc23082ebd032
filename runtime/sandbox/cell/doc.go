// Package cell is the helper process of a sandbox: the first process in it, which
// builds the walls around itself, locks the door, and then starts commands when it
// is asked to. It owns everything that happens inside: the mount tree, the paths that
// may be touched, the end of processes. It owns no decision: package sandbox, outside,
// says in a Plan what to build and in an Order what to start.
//
// # Where it runs
//
// The program executes itself again with the argument Arg, in new namespaces. This
// package's init sees that argument, talks over descriptor Control and never returns:
// neither main nor the init of most packages runs in that process, and nothing else of
// this package runs anywhere else.
//
// # What holds
//
//   - No command starts before every wall of the Plan stands. A wall that cannot be
//     built is an error that ends the process, never a wall less.
//   - The thread that starts commands lies in a Landlock domain of its own, and
//     commands inherit it; the rest of the process does not. So a command cannot
//     signal or inspect the process that says how it ended.
//   - When a command ends, everything that it left behind ends with it.
//   - When the other end of Control closes, the process ends, and all others with it.
//
// It is called by package sandbox, for the vocabulary: Plan, Order, Notice.
package cell
