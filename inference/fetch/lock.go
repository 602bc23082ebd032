package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a waiting process looks again. flock has no wait that
// ends with a context.
const lockPoll = 100 * time.Millisecond

// nameRE is what a lock or stage may be called: it becomes a file name.
var nameRE = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._+@-]*$`)

// Lock takes the lock name of the home folder, which one process and one
// goroutine of it can hold at a time, and waits for it as long as ctx lasts;
// the wait is logged once. The lock goes when unlock is called or the process
// ends, however it ends.
func (f *Fetcher) Lock(ctx context.Context, name string) (unlock func(), err error) {
	file, err := f.lockFile(name)
	if err != nil {
		return nil, err
	}
	if err := waitLock(ctx, f.log(), file, name); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	// The content only serves the message of whoever waits, so a full disk
	// must not stop the holder here.
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return func() { file.Close() }, nil
}

// TryLock takes the lock if nobody holds it; ok says whether.
func (f *Fetcher) TryLock(name string) (unlock func(), ok bool, err error) {
	file, err := f.lockFile(name)
	if err != nil {
		return nil, false, err
	}
	err = ignoringEINTR(func() error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err != nil {
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { file.Close() }, true, nil
}

// lockFile opens the file of a lock.
func (f *Fetcher) lockFile(name string) (*os.File, error) {
	if !nameRE.MatchString(name) {
		return nil, fmt.Errorf("lock %q: not a usable name", name)
	}
	dir := filepath.Join(f.Home, "lock")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, DiskFull(err, f.Home, 0))
	}
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, DiskFull(err, f.Home, 0))
	}
	return file, nil
}

func waitLock(ctx context.Context, log *slog.Logger, file *os.File, name string) error {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for told := false; ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return err
		}
		if !told {
			log.Info("waiting for another process", "lock", name, "pid", lockHolder(file))
			told = true
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func lockHolder(file *os.File) string {
	var b [32]byte
	n, _ := file.ReadAt(b[:], 0)
	if pid := strings.TrimSpace(string(b[:n])); pid != "" {
		return pid
	}
	return "unknown"
}
