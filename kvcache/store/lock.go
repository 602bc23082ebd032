package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked: another process has the folder. The caller goes on without the disk
// tier, and says so.
var ErrLocked = errors.New("the folder is in use by another process; give each its own, or stop the other")

// awaitLock takes the lock of a folder as soon as it is free, if that is soon.
func awaitLock(dir string, wait time.Duration) (*os.File, error) {
	const pause = 20 * time.Millisecond
	for {
		f, err := lockDir(dir)
		if wait <= 0 || !errors.Is(err, ErrLocked) {
			return f, err
		}
		time.Sleep(pause)
		wait -= pause
	}
}

// lockDir takes the lock of a folder; it goes with the file, however the process
// ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		var b [32]byte
		n, _ := f.ReadAt(b[:], 0) // only for the message
		err = fmt.Errorf("%w (process %s)", ErrLocked, strings.TrimSpace(string(b[:n])))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// Who holds it is said for the message above alone: a full disk must not
	// stop anybody here.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return f, nil
}
