package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// usage is what a box holds on disk.
type usage struct{ bytes, files int64 }

// closedFolder stands for a folder that cannot be counted: whatever it holds, it is
// more than is allowed.
const closedFolder = 1 << 60

// measure counts what lies below the folders that an agent fills. It follows no link.
// What vanishes meanwhile is not counted.
func measure(ctx context.Context, dir string) (usage, error) {
	root, err := os.OpenRoot(dir) // refuses links that lead out, also those made meanwhile
	if err != nil {
		return usage{}, fmt.Errorf("count what a sandbox holds: %w", err)
	}
	defer root.Close()
	var u usage
	linked := map[uint64]bool{}
	for _, name := range []string{"upper", "home", "tree", "tmp"} {
		err := fs.WalkDir(root.FS(), name, func(_ string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, fs.ErrPermission):
				u.bytes = closedFolder
				return nil
			case err != nil:
				return nil
			}
			u.count(d, linked)
			return nil
		})
		if err != nil {
			return u, fmt.Errorf("count what a sandbox holds: %w", err)
		}
	}
	return u, nil
}

// count adds one entry; a file with several names counts once.
func (u *usage) count(d fs.DirEntry, linked map[uint64]bool) {
	info, err := d.Info()
	if err != nil {
		return
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if st.Nlink > 1 && !d.IsDir() {
		if linked[st.Ino] {
			return
		}
		linked[st.Ino] = true
	}
	u.files++
	if u.bytes < closedFolder {
		u.bytes += st.Blocks * 512
	}
}

// allowance is how much a box may hold: its bound, and after it went beyond, what it
// held then. It shrinks with what is removed, so that an agent can clean up.
type allowance struct{ bound, now usage }

func newAllowance(bound usage) allowance { return allowance{bound, bound} }

// judge takes a count into account and says what is wrong with it; "" is nothing.
// What is there then is accepted: the caller ends what added to it.
func (a *allowance) judge(u usage) (wrong string) {
	switch {
	case u.bytes >= closedFolder:
		return "a folder that nobody can count"
	case u.bytes > a.now.bytes:
		wrong = fmt.Sprintf("%d bytes on disk, allowed are %d", u.bytes, a.bound.bytes)
	case u.files > a.now.files:
		wrong = fmt.Sprintf("%d files, allowed are %d", u.files, a.bound.files)
	}
	a.now = usage{max(a.bound.bytes, u.bytes), max(a.bound.files, u.files)}
	return wrong
}

// pause is how long after a count the next begins: it takes at most a twentieth of a
// core.
func pause(took time.Duration) time.Duration { return max(500*time.Millisecond, 20*took) }

// diskFree is what an unprivileged user could still write.
func diskFree(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Clean(dir), &st); err != nil {
		return 0, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}
