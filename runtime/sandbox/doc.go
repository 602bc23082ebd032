// Package sandbox runs commands that agents can influence, so that they can change
// their own workspace and nothing else. It owns the choice of walls (Open finds the
// highest rung that this machine allows), the life of a Box (Start, Run, Close), its
// limits, and the account of how commands ended. It owns no decision about which
// command may run, nor what becomes of the changes.
//
// # Rungs
//
//	full     namespaces of every kind, an own mount tree and network, Landlock, seccomp
//	reduced  no user namespaces: Landlock, seccomp, and an own user if root starts it
//	none     limits only; Open refuses it unless Options.Unsafe says otherwise
//
// What each rung leaves open is in Report.Warnings. A machine of its own for each
// agent is no rung: whoever finds a hole in the kernel gets out of all of them.
//
// # A box
//
// One helper process (package cell) holds the walls of a box for its whole life and
// starts any number of commands in it, several at once. Inside there are the programs
// of the machine, read-only; /work, the workspace: a snapshot below, the agent's own
// changes above; /home/agent and /tmp; and one socket, cell.SocketInside. That socket
// is made by the caller for this box alone, and is who the agent is: nothing that is
// said through it needs to say a name.
//
// # What holds
//
//   - A command is never started with a wall less than Report says.
//   - When a command ends, by itself or not, what it started ends with it, unless it
//     descends from another command that still runs.
//   - The environment is made from nothing, descriptors beside the three streams are
//     closed, there is no terminal.
//   - A command that is ended by a limit says by which (Result.Ended).
//   - If this program dies, all boxes die.
//
// # How hard the limits are
//
// Where there are control groups, memory, processes and CPU are held by the kernel for
// the whole tree. Where there are none, processes are held by the kernel (for the
// user), and memory is added up ten times a second; between two looks a tree can take
// what Limits.Memory and half a GiB allow to one process, as often as it has processes.
// Disk is counted every half second, and more rarely the longer counting takes: a
// command can overshoot by what it writes meanwhile, and is then ended; later commands
// may work with what is there, and remove it, but are ended when they add to it. A file that is deleted but open is not counted; that
// the disk does not run full is watched beside (Options.DiskFloor). With
// Spec.Volatile, workspace and home lie in memory and the bound is exact.
//
// Everything may be called from any goroutine. Runtime packages and cmd call it.
package sandbox
