package store

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// folder is one identity's files.
type folder struct {
	path  string
	bytes int64
	used  time.Time // the newest file's
}

// Prune removes folders of other identities than keep (Identity.Key) below dir,
// the longest unused first, until the rest takes at most budget bytes: nobody may
// load those models again. Folders that are open stay.
func Prune(dir, keep string, budget int64) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("prune disk tiers: %w", err)
	}
	var others []folder
	var sum int64
	for _, e := range entries {
		if !e.IsDir() || e.Name() == keep {
			continue
		}
		f, err := measure(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("prune disk tiers: %w", err)
		}
		others, sum = append(others, f), sum+f.bytes
	}
	slices.SortFunc(others, func(a, b folder) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, f := range others {
		if sum <= budget {
			return nil
		}
		lock, err := lockDir(f.path)
		if errors.Is(err, ErrLocked) {
			continue
		}
		if err != nil {
			return fmt.Errorf("prune disk tiers: %w", err)
		}
		if err := errors.Join(os.RemoveAll(f.path), lock.Close()); err != nil {
			return fmt.Errorf("prune disk tiers: %w", err)
		}
		sum -= f.bytes
	}
	return nil
}

func measure(path string) (f folder, err error) {
	f.path = path
	err = filepath.WalkDir(path, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f.bytes += info.Size()
		if info.ModTime().After(f.used) {
			f.used = info.ModTime()
		}
		return nil
	})
	return f, err
}
