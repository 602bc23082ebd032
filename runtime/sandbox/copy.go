package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyOnce copies a snapshot to where an agent works, if it was not copied already.
// The copy appears whole or not at all. An empty from is an empty folder.
func copyOnce(from, to string, uid int) error {
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	part := to + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	if from == "" {
		if err := ownFolder(part, uid); err != nil {
			return err
		}
	} else if err := copyTree(from, part, uid); err != nil {
		return err
	}
	if err := os.Rename(part, to); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// copyTree copies folders, files and links with their rights, not with their times.
// What is none of these is an error: a snapshot has nothing else.
func copyTree(from, to string, uid int) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if err := copyEntry(path, target, d); err != nil {
			return err
		}
		if uid == 0 {
			return nil
		}
		return os.Lchown(target, uid, uid)
	})
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

func copyEntry(from, to string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch d.Type() {
	case fs.ModeDir:
		return os.Mkdir(to, info.Mode().Perm()|0o700)
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case 0:
		return copyFile(from, to, info.Mode().Perm())
	}
	return fmt.Errorf("%s is neither a file, a folder nor a link", from)
}

func copyFile(from, to string, mode fs.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
