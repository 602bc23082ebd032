package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Free is the room in bytes that an ordinary user may still fill on the file
// system that holds path, or will hold it once it exists.
func Free(path string) (uint64, error) {
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if err == nil {
			return st.Bavail * uint64(st.Bsize), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return 0, fmt.Errorf("free room at %s: %w", path, err)
		}
	}
}

// CheckSpace fails with a *DiskFullError when path has not need bytes left.
func CheckSpace(path string, need uint64) error {
	free, err := Free(path)
	if err != nil {
		return err
	}
	if free < need {
		return &DiskFullError{Path: path, Free: free, Need: need}
	}
	return nil
}

// DiskFull turns a failed write into a *DiskFullError where that is the cause
// and leaves other errors alone.
func DiskFull(err error, path string, need uint64) error {
	var known *DiskFullError
	if err == nil || errors.As(err, &known) || !isDiskFull(err) {
		return err
	}
	free, freeErr := Free(path)
	if freeErr != nil {
		return errors.Join(err, freeErr)
	}
	return &DiskFullError{Path: path, Free: free, Need: need, Err: err}
}

// syncTree flushes every file and folder under root, root included, so that a
// rename after it cannot leave names without contents.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return nil // a link lives in its folder
		}
		return syncPath(path)
	})
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
