package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Stage is a folder in which something is made before it is published. It lies
// on the same file system as the rest of the home folder.
type Stage struct {
	Dir  string
	home string
	name string
}

// stageMark parts the name of a stage from its random end; nameRE excludes it,
// so that no name is the beginning of another's.
const stageMark = "~"

// Stage makes an empty stage. The caller holds Lock(name); what a killed
// process left in a stage of that name is removed.
func (f *Fetcher) Stage(name string) (*Stage, error) {
	if !nameRE.MatchString(name) {
		return nil, fmt.Errorf("stage %q: not a usable name", name)
	}
	tmp := filepath.Join(f.Home, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, fmt.Errorf("stage %s: %w", name, DiskFull(err, f.Home, 0))
	}
	left, err := filepath.Glob(filepath.Join(tmp, name+stageMark+"*"))
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", name, err)
	}
	for _, dir := range left {
		f.log().Info("removing unfinished work", "path", dir)
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("stage %s: %w", name, err)
		}
	}
	dir, err := os.MkdirTemp(tmp, name+stageMark+"*")
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", name, DiskFull(err, f.Home, 0))
	}
	if err := os.Chmod(dir, 0o755); err != nil { // MkdirTemp makes it private
		return nil, fmt.Errorf("stage %s: %w", name, err)
	}
	return &Stage{Dir: dir, home: f.Home, name: name}, nil
}

// Publish flushes part (a path inside the stage) to the disk and moves it to
// dst, an absolute path in the home folder. What was at dst is replaced: a file
// by one rename; a folder by two, and whoever is killed between them leaves
// nothing at dst, never half of it.
func (s *Stage) Publish(part, dst string) error {
	src := filepath.Join(s.Dir, part)
	if err := s.publish(src, dst); err != nil {
		return fmt.Errorf("publish %s: %w", dst, DiskFull(err, s.home, 0))
	}
	return nil
}

func (s *Stage) publish(src, dst string) error {
	if err := syncTree(src); err != nil {
		return err
	}
	parent := filepath.Dir(dst)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	if info, err := os.Lstat(dst); err == nil && info.IsDir() {
		old, err := os.MkdirTemp(filepath.Dir(s.Dir), s.name+stageMark+"*")
		if err != nil {
			return err
		}
		if err := os.Rename(dst, filepath.Join(old, "old")); err != nil {
			return errors.Join(err, os.Remove(old))
		}
		// The old one is out of the way; if it cannot be removed now, the
		// next stage of this name does it.
		defer os.RemoveAll(old)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(src, dst); err != nil {
		return err
	}
	return syncPath(parent)
}

// Discard removes the stage with all that was not published.
func (s *Stage) Discard() error {
	if err := os.RemoveAll(s.Dir); err != nil {
		return fmt.Errorf("discard stage %s: %w", s.name, err)
	}
	return nil
}

// StageLock is the name of the lock under which a folder of tmp was made; false
// for what is no stage.
func StageLock(dir string) (name string, ok bool) {
	name, _, ok = strings.Cut(dir, stageMark)
	return name, ok && nameRE.MatchString(name)
}
