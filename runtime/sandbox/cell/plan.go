package cell

import "time"

// Arg is the argument by which the program knows that it is the helper.
const Arg = "__sandbox"

// Control is the descriptor of the helper's end of the line.
const Control = 3

// Mode says which walls there are.
type Mode string

const (
	// Full is namespaces of every kind, an own mount tree, Landlock and seccomp.
	Full Mode = "full"
	// Reduced is Landlock, seccomp and, where the starter is root, an own user.
	Reduced Mode = "reduced"
	// Bare is nothing but limits on resources.
	Bare Mode = "bare"
	// End builds nothing: the helper ends all processes of its user, and itself. It
	// is for boxes of Reduced with an own user whose helper is gone.
	End Mode = "end"
)

// Plan says what to build. Paths named Inside are as commands see them.
type Plan struct {
	Mode Mode `json:"mode"`

	// Trees are bound into the new root, in this order. With a Descriptor, its
	// number counts from 1 in the descriptors that came with the plan, and the
	// tree is a detached mount; otherwise From is opened here.
	Trees []Tree `json:"trees,omitempty"`
	// Links are symbolic links of the new root.
	Links []Link `json:"links,omitempty"`
	// Hide are paths inside that are covered by something empty.
	Hide []string `json:"hide,omitempty"`

	// Workspace is where commands work.
	Workspace Workspace `json:"workspace"`
	// Home is the folder inside that commands may fill beside the workspace; in
	// the modes without a mount tree it is a path of the machine.
	Home string `json:"home"`
	// Scratch is the folder for temporary files, in modes without a mount tree.
	Scratch string `json:"scratch,omitempty"`
	// ScratchBytes and ScratchFiles bound /tmp, in Full.
	ScratchBytes int64 `json:"scratch_bytes,omitempty"`
	ScratchFiles int64 `json:"scratch_files,omitempty"`
	// Box is the tree that holds upper, work and home of this sandbox.
	Box Tree `json:"box"`
	// Socket is the one way out: bound at SocketInside, in Full.
	Socket *Tree `json:"socket,omitempty"`

	// OwnUser says that the helper runs as a user that nothing else is, in Reduced.
	OwnUser bool `json:"own_user,omitempty"`

	Limits Limits `json:"limits"`

	// Filter is the program of the system call filter as the kernel takes it; every
	// mode but Bare must have one.
	Filter []byte `json:"filter,omitempty"`
}

// Where things are in a full sandbox.
const (
	SocketInside = "/run/dure/agent.sock"
	HomeInside   = "/home/agent"
	WorkInside   = "/work"
	UserInside   = 1000
)

// Tree is a folder or file of the machine, and where it appears.
type Tree struct {
	From       string `json:"from,omitempty"`
	Descriptor int    `json:"descriptor,omitempty"`
	Inside     string `json:"inside"`
	File       bool   `json:"file,omitempty"`
	Writable   bool   `json:"writable,omitempty"`
}

// Link is a symbolic link.
type Link struct {
	Inside string `json:"inside"`
	Target string `json:"target"`
}

// Workspace is either an overlay over Lower or, with Plain, a folder as it is.
type Workspace struct {
	Inside string `json:"inside"`
	// Lower is the snapshot. Its Inside is not used.
	Lower *Tree `json:"lower,omitempty"`
	// Plain names the folder within Box (in Full), or of the machine, that holds a
	// copy of the snapshot. With Memory it is only a name.
	Plain string `json:"plain,omitempty"`
	// Memory keeps upper, work and home in memory, with exactly this many bytes and
	// files at most, and forgets them.
	Memory      int64 `json:"memory,omitempty"`
	MemoryFiles int64 `json:"memory_files,omitempty"`
}

// Limits are set on the process and inherited; 0 is no limit.
type Limits struct {
	Processes   int64         `json:"processes,omitempty"` // with threads, the helper's among them
	Files       int64         `json:"files,omitempty"`     // open at once, in one process
	FileSize    int64         `json:"file_size,omitempty"` // bytes
	CPU         time.Duration `json:"cpu,omitempty"`       // of one process
	Data        int64         `json:"data,omitempty"`      // bytes, of one process
	WatchMemory int64         `json:"watch_memory,omitempty"`
}

// Order is what the outside asks for.
type Order struct {
	// Start starts a command; three or four descriptors come with it: its standard
	// streams, and where there is no socket to be bound, a connection to it.
	Start *Start `json:"start,omitempty"`
	// Kill ends a job and all that it started.
	Kill int `json:"kill,omitempty"`
	// Signal sends a signal to the group of a job's first process.
	Signal *Signal `json:"signal,omitempty"`
}

// Start describes a command.
type Start struct {
	Job  int      `json:"job"` // from 1
	Args []string `json:"args"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
}

// Signal is a signal to a job.
type Signal struct {
	Job    int `json:"job"`
	Number int `json:"number"`
}

// Notice is what the helper says.
type Notice struct {
	Ready   *Ready  `json:"ready,omitempty"`
	Failed  string  `json:"failed,omitempty"` // the helper ends
	Started *Reply  `json:"started,omitempty"`
	Exited  *Exited `json:"exited,omitempty"`
	// OverMemory says that all commands were killed: they held Bytes together.
	OverMemory *OverMemory `json:"over_memory,omitempty"`
}

// Ready says that the walls stand.
type Ready struct {
	Landlock int `json:"landlock"` // the version that the kernel speaks; 0: none
}

// Reply says whether a command started.
type Reply struct {
	Job   int    `json:"job"`
	Error string `json:"error,omitempty"`
	// Errno of a start that failed, 0 where it was no system call.
	Errno int `json:"errno,omitempty"`
}

// Exited says how a job's first process ended.
type Exited struct {
	Job     int           `json:"job"`
	Code    int           `json:"code"`   // -1 when a signal ended it
	Signal  int           `json:"signal"` // 0 when none did
	CPU     time.Duration `json:"cpu"`    // user and system, of it and those that it waited for
	Memory  int64         `json:"memory"` // largest resident size of one process, bytes
	Strays  int           `json:"strays"` // processes that it left behind and that were ended
	Runaway bool          `json:"runaway,omitempty"`
}

// OverMemory tells of a watchdog's kill.
type OverMemory struct {
	Bytes int64 `json:"bytes"`
}
