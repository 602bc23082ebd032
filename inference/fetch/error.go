package fetch

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// ToolError says that a program is not installed.
type ToolError struct {
	Tool string // its name
	For  string // what it was needed for
	Fix  string // how to get it
}

func (e *ToolError) Error() string {
	return fmt.Sprintf("%s not found; it is needed to %s: %s", e.Tool, e.For, e.Fix)
}

// Failure is why a client failed, as far as its output tells.
type Failure string

// The failures that lead to different advice.
const (
	FailureNetwork  Failure = "network"   // the registry could not be reached
	FailureNotFound Failure = "not_found" // the registry does not have this version
	FailureOther    Failure = "other"
)

// ClientError says that a package client ran and failed.
type ClientError struct {
	Command string // as it was run
	Status  string // for example "exit status 1"
	Failure Failure
	Output  string // the end of what it printed
	Fix     string
}

func (e *ClientError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Command, e.Status)
	if out := strings.TrimSpace(e.Output); out != "" {
		fmt.Fprintf(&b, "; it printed:\n  %s\n", strings.ReplaceAll(out, "\n", "\n  "))
	} else {
		b.WriteString("; it printed nothing\n")
	}
	b.WriteString(e.Fix)
	return b.String()
}

// HashError says that bytes are not the pinned ones.
type HashError struct {
	Path      string
	Want, Got string
}

func (e *HashError) Error() string {
	return fmt.Sprintf("%s is not the pinned file: expected %s, got %s", e.Path, e.Want, e.Got)
}

// DiskFullError says that there is no room. errors.Is(err, syscall.ENOSPC)
// holds for it.
type DiskFullError struct {
	Path string // where the room was needed
	Free uint64 // bytes free there
	Need uint64 // bytes needed in all; 0 where it is not known
	Err  error  // what the system or the client said; nil for the check before
}

func (e *DiskFullError) Error() string {
	msg := fmt.Sprintf("disk full at %s: %s free", e.Path, size(e.Free))
	if e.Need > 0 {
		msg += fmt.Sprintf(", %s needed", size(e.Need))
	}
	msg += "; free some room there or use another folder (DURE_HOME)"
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

func (e *DiskFullError) Unwrap() error { return e.Err }

// Is makes the check before the write look like the failed write itself.
func (e *DiskFullError) Is(target error) bool { return target == syscall.ENOSPC }

// ArchiveError says that an archive is broken or tries something an archive of
// ours has no reason to do.
type ArchiveError struct {
	Path   string // the archive
	Member string // the entry at fault; may be empty
	Reason string
	Err    error // the decoder's error; may be nil
}

func (e *ArchiveError) Error() string {
	msg := "archive " + e.Path
	if e.Member != "" {
		msg += fmt.Sprintf(", member %q", e.Member)
	}
	msg += ": " + e.Reason
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

func (e *ArchiveError) Unwrap() error { return e.Err }

// isDiskFull is true for a full disk and for a used-up quota.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// size prints bytes for people.
func size(n uint64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, name := float64(n), ""
	for _, name = range []string{"kB", "MB", "GB", "TB"} {
		value /= unit
		if value < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, name)
}
