package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Reason why a file was not used.
type Reason uint8

const (
	// Foreign, Newer, Truncated, Damaged (ErrForeign and so on say more), and what
	// the system would not read: set aside.
	Foreign Reason = iota
	Newer
	Truncated
	Damaged
	Unreadable
	// Orphan: the rows it rests on are not there; removed.
	Orphan
	// Duplicate: the same span is there already; removed.
	Duplicate
	reasons
)

func (r Reason) String() string {
	return [...]string{"foreign", "newer", "truncated", "damaged", "unreadable", "orphan", "duplicate"}[r]
}

func reasonOf(err error) Reason {
	for r, kind := range []error{ErrForeign, ErrNewer, ErrTruncated, ErrDamaged} {
		if errors.Is(err, kind) {
			return Reason(r)
		}
	}
	return Unreadable
}

// aside is the folder of what was refused: bounded, the oldest go.
type aside struct {
	dir   string
	bytes int64 // the most it may hold
	files int
	held  []asideFile // in the order they came
	used  int64
	next  int
}

type asideFile struct {
	name  string
	bytes int64
}

// openAside looks at what is there; its names are in order of age.
func openAside(dir string, bytes int64, files int) (*aside, error) {
	a := &aside{dir: dir, bytes: bytes, files: files, next: 1}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		var n int
		if _, err := fmt.Sscanf(e.Name(), "%d-", &n); err == nil {
			a.next = max(a.next, n+1)
		}
		a.held = append(a.held, asideFile{e.Name(), info.Size()})
		a.used += info.Size()
	}
	return a, a.shrink(0)
}

// take moves a file in, after those that are too many are gone. One that alone
// is more than may be held is removed.
func (a *aside) take(path string, why Reason) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Size() > a.bytes || a.files < 1 {
		return os.Remove(path)
	}
	if err := a.shrink(info.Size()); err != nil {
		return err
	}
	name := fmt.Sprintf("%06d-%v-%s", a.next, why, filepath.Base(path))
	if err := os.Rename(path, filepath.Join(a.dir, name)); err != nil {
		return err
	}
	a.next++
	a.held = append(a.held, asideFile{name, info.Size()})
	a.used += info.Size()
	return nil
}

// shrink makes room for a file of this size; 0 for none.
func (a *aside) shrink(size int64) error {
	more := 0
	if size > 0 {
		more = 1
	}
	for len(a.held) > 0 && (a.used+size > a.bytes || len(a.held)+more > a.files) {
		if err := os.Remove(filepath.Join(a.dir, a.held[0].name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		a.used -= a.held[0].bytes
		a.held = a.held[1:]
	}
	return nil
}

// idOf is the number that a file of the store has as its name.
func idOf(name string) (uint64, bool) {
	base := strings.TrimSuffix(name, filepath.Ext(name))
	var n uint64
	_, err := fmt.Sscanf(base, "%x", &n)
	return n, err == nil && fmt.Sprintf("%016x", n) == base
}
