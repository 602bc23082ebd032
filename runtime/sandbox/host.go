package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"dure/runtime/sandbox/cell"
	"dure/runtime/sandbox/filter"
)

// Rung is how much stands between a command and the machine.
type Rung = cell.Mode

// The rungs, from the top.
const (
	Full    = cell.Full
	Reduced = cell.Reduced
	None    = cell.Bare
)

// Options of Open.
type Options struct {
	// Dir is a folder on the file system where boxes will be; what is tried out
	// there is removed again. It must exist.
	Dir string
	// Helper is how this program is executed as the helper: a path and arguments.
	// Empty is {"/proc/self/exe", cell.Arg}.
	Helper []string
	// Only, if given, is the one rung to try: for tests and for those who want to
	// be sure.
	Only Rung
	// Unsafe allows rung None where nothing better is possible.
	Unsafe bool
	// NoControlGroups leaves limits to the watchdog even where the kernel could.
	NoControlGroups bool
	// NoOverlay copies snapshots even where they could be shared.
	NoOverlay bool
	// Memory and Processes bound all boxes together, where there are control groups.
	Memory    int64
	Processes int
	// DiskFloor ends commands when less than this is free on the disk of their box;
	// 0 is 512 MiB.
	DiskFloor int64
	Log       *slog.Logger
}

// Host is what this machine allows. It lives as long as the program uses sandboxes.
type Host struct {
	opt    Options
	report Report
	fence  *fence // nil without control groups
	owner  owner
	users  chan int // free users of rung Reduced, where each box has its own
	filter []byte   // of system calls, for every box
}

// Report says what Open found.
type Report struct {
	Rung Rung `json:"rung"`
	// Tried says for every rung above it why it is not to be had.
	Tried []Failure `json:"tried,omitempty"`
	// Overlay says that boxes share their snapshot; else each has a copy.
	Overlay bool `json:"overlay"`
	// Limits says who holds them: "control groups v2", "control groups v1",
	// "process limits and a watchdog".
	Limits   string `json:"limits"`
	Landlock int    `json:"landlock"` // version of the interface; 0: none
	// Facts are what the machine's own locks are set to.
	Facts []Fact `json:"facts"`
	// Warnings are what a person should know before trusting this rung.
	Warnings []string `json:"warnings,omitempty"`
}

// Failure is why a rung was not taken.
type Failure struct {
	Rung   Rung   `json:"rung"`
	Reason string `json:"reason"`
}

// Open finds the highest rung on which a box really starts, and says loudly what is
// missing on it.
func Open(ctx context.Context, opt Options) (*Host, error) {
	if opt.Log == nil {
		return nil, errors.New("sandbox: no logger")
	}
	if len(opt.Helper) == 0 {
		opt.Helper = []string{"/proc/self/exe", cell.Arg}
	}
	opt.DiskFloor = cmp.Or(opt.DiskFloor, 512<<20)
	h := &Host{opt: opt, report: Report{Facts: facts(), Landlock: cell.LandlockVersion()}}
	if err := h.openFence(); err != nil {
		return nil, err
	}
	rungs := []Rung{Full, Reduced, None}
	if opt.Only != "" {
		rungs = []Rung{opt.Only}
	}
	for _, rung := range rungs {
		if rung == None && !opt.Unsafe {
			break
		}
		err := h.try(ctx, rung)
		if err == nil {
			h.warn()
			return h, nil
		}
		h.owner.close()
		h.report.Tried = append(h.report.Tried, Failure{rung, err.Error()})
	}
	err := ErrRefused
	for _, f := range h.report.Tried {
		err = fmt.Errorf("%w; %s: %s", err, f.Rung, f.Reason)
	}
	return nil, errors.Join(err, h.fence.close())
}

// Report is what was found.
func (h *Host) Report() Report { return h.report }

// Close gives back what Open took. All boxes must be closed.
func (h *Host) Close() error {
	h.owner.close()
	if err := h.fence.close(); err != nil {
		return fmt.Errorf("close the sandboxes: %w", err)
	}
	return nil
}

// try starts a box on a rung and runs nothing in it. If only the overlay fails, the
// rung is taken with copies.
func (h *Host) try(ctx context.Context, rung Rung) error {
	h.report.Rung = rung
	var err error
	if h.owner, err = newOwner(rung, h.opt.Helper); err != nil {
		return err
	}
	if rung != None {
		h.filter, err = filter.Program(filter.Walls{Network: rung == Full, Files: rung == Full || h.owner.uid != 0})
		if err != nil {
			return err
		}
	}
	if rung == Reduced && h.owner.uid != 0 {
		h.users = make(chan int, users)
		for i := range users {
			h.users <- firstUser + 1 + i
		}
	}
	h.report.Overlay = rung == Full && !h.opt.NoOverlay
	err = h.trial(ctx)
	if err != nil && h.report.Overlay {
		h.report.Overlay = false
		if second := h.trial(ctx); second == nil {
			h.report.Warnings = append(h.report.Warnings, "snapshots are copied for every agent, since no overlay can be mounted: "+err.Error())
			return nil
		}
	}
	return err
}

func (h *Host) trial(ctx context.Context) error {
	dir, err := os.MkdirTemp(h.opt.Dir, "try-")
	if err != nil {
		return fmt.Errorf("try a sandbox: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil { // another user may have to pass
		return fmt.Errorf("try a sandbox: %w", err)
	}
	lower := filepath.Join(dir, "lower")
	if err := os.Mkdir(lower, 0o755); err != nil {
		return fmt.Errorf("try a sandbox: %w", err)
	}
	box, err := h.Start(ctx, Spec{Name: filepath.Base(dir), Dir: filepath.Join(dir, "box"), Lower: lower})
	if err != nil {
		return err
	}
	return box.Close()
}

// warn says what is missing, once, as warnings of the log and of the report.
func (h *Host) warn() {
	r := &h.report
	say := func(s string) { r.Warnings = append(r.Warnings, s) }
	for _, f := range r.Tried {
		say(fmt.Sprintf("rung %s is not to be had: %s", f.Rung, f.Reason))
	}
	switch r.Rung {
	case Reduced:
		say("without user namespaces, commands see the machine's paths and processes, though they can open none but their own; " +
			"chmod, chown and utime by path are refused, and so is every socket but the one that a command is handed")
		if h.owner.uid == 0 {
			say("commands run as your own user: only Landlock and seccomp stand between them and your files, and they can end the process that watches them and live on")
		}
		if r.Landlock < 6 {
			say("this kernel's Landlock does not keep commands from signalling other processes of the same user")
		}
	case None:
		say("there is NO sandbox: commands can read, change and send whatever you can")
	case Full:
		if r.Landlock == 0 {
			say("this kernel has no Landlock: the second wall is missing")
		}
	}
	if h.fence == nil {
		say("memory is added up ten times a second instead of being held by the kernel, and CPU is not bounded")
	}
	for _, w := range r.Warnings {
		h.opt.Log.Warn("sandbox is weaker than it could be", "rung", r.Rung, "what", w)
	}
}
