// Package disk is the few things that the store does with files, as an interface,
// so that tests can say what a power cut leaves of them. It owns no file and makes
// no decision. Package vcs alone uses it; disktest breaks it.
//
// What holds on a real disk, and what the store may rely on: bytes are there after
// a power cut when Sync of their file returned without an error; a name is there,
// or gone, when SyncDir of its folder did.
package disk

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A File is open for reading at any place and writing at its end.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
	Truncate(size int64) error
	// Sync returns when what was written is on the disk.
	Sync() error
	Size() (int64, error)
}

// FS is what the store does with names.
type FS interface {
	// Create makes a file that must not be there yet.
	Create(path string) (File, error)
	// Open opens a file for reading.
	Open(path string) (File, error)
	ReadFile(path string) ([]byte, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	MkdirAll(path string) error
	Rename(from, to string) error
	Remove(path string) error
	// SyncDir returns when what was done to names in the folder is on the disk.
	SyncDir(path string) error
}

// OS is the real one. Files and folders are their owner's alone.
type OS struct{}

type file struct{ *os.File }

func (f file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (OS) Create(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (OS) Open(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (OS) ReadFile(path string) ([]byte, error)       { return os.ReadFile(path) }
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (OS) MkdirAll(path string) error                 { return os.MkdirAll(path, 0o700) }
func (OS) Rename(from, to string) error               { return os.Rename(from, to) }
func (OS) Remove(path string) error                   { return os.Remove(path) }

func (OS) SyncDir(path string) (err error) {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	if err = d.Sync(); err != nil {
		err = fmt.Errorf("flush folder %s: %w", path, err)
	}
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}

// WriteFile makes a file with these bytes, on the disk when it returns. Its name is
// on the disk after SyncDir.
func WriteFile(d FS, path string, data []byte) error {
	f, err := d.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
