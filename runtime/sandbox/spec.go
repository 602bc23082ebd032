package sandbox

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Spec describes a box.
type Spec struct {
	// Name is for logs and control groups: letters, digits, '-', '_', at most 64;
	// no two living boxes have the same.
	Name string
	// Dir keeps what the agent changes: upper, home, and in a sandbox without
	// overlays the whole tree. It is made where it is missing, continued where it
	// is there, and stays after Close. No other living box may have it.
	Dir string
	// Lower is the snapshot that the workspace begins as. It is never changed, and
	// must not change while a box stands on it. Empty is an empty workspace.
	Lower string
	// Volatile, if not 0, keeps workspace and home in memory, at most this many
	// bytes, and forgets them at Close. For checks whose files nobody needs.
	Volatile int64
	// Mounts are folders and files of the machine that are there to be read.
	Mounts []Mount
	// Hide are paths inside that are covered by something empty.
	Hide []string
	// Env is added to the base environment of every command: KEY=VALUE.
	Env []string
	// Socket is the path of the unix socket that is the agent's only way out.
	Socket string
	Limits Limits
}

// Mount shows From of the machine, read-only, at Inside; empty is the same path. On
// a rung without an own mount tree only the same path is possible.
type Mount struct{ From, Inside string }

// Limits bound a box. Zero values are replaced by DefaultLimits.
type Limits struct {
	Memory    int64   // bytes, all processes together
	Processes int     // with threads, the helper's (about ten) among them
	CPU       float64 // cores
	Disk      int64   // bytes in Dir
	Files     int64   // files and folders in Dir
	Scratch   int64   // bytes in /tmp, and as many in /dev/shm; they count as memory
}

// DefaultLimits are for an agent that edits, builds and tests.
var DefaultLimits = Limits{Memory: 2 << 30, Processes: 512, CPU: 1, Disk: 4 << 30, Files: 400_000, Scratch: 512 << 20}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	if l.Memory == 0 {
		l.Memory = d.Memory
	}
	if l.Processes == 0 {
		l.Processes = d.Processes
	}
	if l.CPU == 0 {
		l.CPU = d.CPU
	}
	if l.Disk == 0 {
		l.Disk = d.Disk
	}
	if l.Files == 0 {
		l.Files = d.Files
	}
	if l.Scratch == 0 {
		l.Scratch = d.Scratch
	}
	return l
}

// Cmd is one command.
type Cmd struct {
	Args []string
	// Dir is inside; a relative one begins at the workspace. Empty is the workspace.
	Dir string
	// Env is added to the box's: KEY=VALUE, the last one wins.
	Env []string
	// Stdin is read until it ends or the command does; nil is an empty one. A Read
	// that blocks is not waited for.
	Stdin io.Reader
	// Stdout and Stderr get at most OutputCap bytes each; nil drops all. What is
	// beyond is read, dropped and counted, so that the command does not hang. They
	// may be the same writer: it is written to in turn.
	Stdout, Stderr io.Writer
	OutputCap      int64 // 0 is DefaultOutputCap, -1 is none
	// Timeout ends the command; 0 leaves that to the context.
	Timeout time.Duration
}

// DefaultOutputCap is how much of a stream is passed on, in bytes.
const DefaultOutputCap = 1 << 20

// Ended says why a command is over.
type Ended string

// What ended a command. All but the first two were this package's doing.
const (
	EndedItself    Ended = "exit"      // it exited: Result.Code
	EndedBySignal  Ended = "signal"    // of its own, or by a limit of a single process
	EndedTimeout   Ended = "timeout"   // Cmd.Timeout
	EndedCancelled Ended = "cancelled" // the context
	EndedMemory    Ended = "memory"    // Limits.Memory
	EndedDisk      Ended = "disk"      // Limits.Disk, Limits.Files, or the machine's disk is nearly full
	EndedRunaway   Ended = "runaway"   // it forked faster than it could be ended, and took all commands of the box with it
)

// Result is how a command ended.
type Result struct {
	Ended  Ended
	Code   int            // exit code; -1 when a signal ended it
	Signal syscall.Signal // 0 when none did
	Wall   time.Duration
	CPU    time.Duration // user and system, with children that it waited for
	Memory int64         // largest resident size of one process, bytes
	// Stdout and Stderr count what was written, Dropped what of it was beyond the cap.
	Stdout, Stderr, Dropped int64
	// Strays says that it left processes behind, which were ended.
	Strays bool
	// OutOfMemory counts processes of the box that the kernel ended for want of
	// memory while the command ran. The command itself may have gone on.
	OutOfMemory int
}

// Errors that callers branch on.
var (
	ErrRefused  = errors.New("this machine allows no sandbox")
	ErrClosed   = errors.New("the box is closed")
	ErrLost     = errors.New("the box is gone: its helper process ended")
	ErrNotFound = errors.New("no such program in the sandbox")
	ErrTooLong  = errors.New("the command is too long: hand it over as a file or on standard input")
)

var goodName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// check refuses what would be misunderstood later.
func (s Spec) check() error {
	if !goodName.MatchString(s.Name) {
		return fmt.Errorf("sandbox: name %q is not 1 to 64 letters, digits, '-' or '_'", s.Name)
	}
	if !filepath.IsAbs(s.Dir) {
		return fmt.Errorf("sandbox %s: folder %q is no absolute path", s.Name, s.Dir)
	}
	if s.Lower != "" && !filepath.IsAbs(s.Lower) {
		return fmt.Errorf("sandbox %s: snapshot %q is no absolute path", s.Name, s.Lower)
	}
	for _, m := range s.Mounts {
		if !filepath.IsAbs(m.From) || m.Inside != "" && !filepath.IsAbs(m.Inside) {
			return fmt.Errorf("sandbox %s: mount %q at %q: paths must be absolute", s.Name, m.From, m.Inside)
		}
	}
	for _, e := range s.Env {
		if k, _, ok := strings.Cut(e, "="); !ok || k == "" {
			return fmt.Errorf("sandbox %s: environment %q is not KEY=VALUE", s.Name, e)
		}
	}
	l := s.Limits
	if l.Memory < 0 || l.Processes < 0 || l.CPU < 0 || l.Disk < 0 || l.Files < 0 || l.Scratch < 0 || s.Volatile < 0 {
		return fmt.Errorf("sandbox %s: a limit below 0", s.Name)
	}
	return nil
}
