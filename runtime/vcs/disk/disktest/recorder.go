// Package disktest is a disk whose power can be cut: it does everything on the real
// one, writes down what was done in which order, and makes folders as a power cut at
// any moment may have left them. Tests alone import it.
//
// What it takes from who does not flush: of a file, what was written since its last
// Sync: any number of the last writes, and of the one before them any sectors. Of a
// folder, what was done to names since its last SyncDir: any number of the last
// ones, each folder by itself. A file that is there may have lost its content, and a
// removed one may be back.
package disktest

import (
	"fmt"
	"path/filepath"
	"sync"

	"dure/runtime/vcs/disk"
)

type kind uint8

const (
	opCreate kind = iota
	opWrite
	opTruncate
	opSync
	opRename
	opRemove
	opMkdir
	opSyncDir
)

type op struct {
	kind     kind
	path, to string
	file     int // number of the file, for data
	data     []byte
	size     int64
}

// A Recorder is a disk.FS for one folder.
type Recorder struct {
	disk.OS
	root string

	mu    sync.Mutex
	ops   []op
	files int
}

// NewRecorder records what is done below a folder.
func NewRecorder(root string) *Recorder {
	return &Recorder{root: root}
}

// Moment is how many things were done until now.
func (r *Recorder) Moment() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

func (r *Recorder) rel(path string) string {
	rel, err := filepath.Rel(r.root, path)
	if err != nil {
		panic(fmt.Sprintf("disktest: %s is not below %s", path, r.root))
	}
	return rel
}

type recorded struct {
	disk.File
	r    *Recorder
	file int
}

// Create makes a file and records it.
func (r *Recorder) Create(path string) (disk.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := r.OS.Create(path)
	if err != nil {
		return nil, err
	}
	r.files++
	r.ops = append(r.ops, op{kind: opCreate, path: r.rel(path), file: r.files})
	return &recorded{f, r, r.files}, nil
}

// Rename renames and records it.
func (r *Recorder) Rename(from, to string) error {
	return r.do(op{kind: opRename, path: r.rel(from), to: r.rel(to)}, func() error { return r.OS.Rename(from, to) })
}

// Remove removes and records it.
func (r *Recorder) Remove(path string) error {
	return r.do(op{kind: opRemove, path: r.rel(path)}, func() error { return r.OS.Remove(path) })
}

// MkdirAll makes folders, which are there from then on: losing them is not tried.
func (r *Recorder) MkdirAll(path string) error {
	return r.do(op{kind: opMkdir, path: r.rel(path)}, func() error { return r.OS.MkdirAll(path) })
}

// SyncDir flushes names and records it.
func (r *Recorder) SyncDir(path string) error {
	return r.do(op{kind: opSyncDir, path: r.rel(path)}, func() error { return r.OS.SyncDir(path) })
}

func (r *Recorder) do(o op, act func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := act(); err != nil {
		return err
	}
	r.ops = append(r.ops, o)
	return nil
}

func (f *recorded) Write(p []byte) (int, error) {
	err := f.r.do(op{kind: opWrite, file: f.file, data: append([]byte(nil), p...)}, func() error {
		_, err := f.File.Write(p)
		return err
	})
	return len(p), err
}

func (f *recorded) Truncate(size int64) error {
	return f.r.do(op{kind: opTruncate, file: f.file, size: size}, func() error { return f.File.Truncate(size) })
}

// Sync is recorded when it has returned: what was written meanwhile may be lost.
func (f *recorded) Sync() error {
	return f.r.do(op{kind: opSync, file: f.file}, func() error { return nil })
}
