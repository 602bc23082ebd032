package vcs

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"sync"

	"dure/runtime/vcs/disk"
	"dure/runtime/vcs/object"
)

// A segment is a log file and where in it objects are. The writer appends; anyone
// reads. Its file is closed when nothing refers to it any more: a reader may still
// be at a log that was sealed and removed.
type segment struct {
	number uint64
	mark   mark
	path   string
	file   disk.File
	size   int64 // up to the last whole record; the writer's
	moved  bool  // it has moves; the writer's

	mu      sync.RWMutex
	objects map[object.ID]span
}

// span is where an entry is in a log.
type span struct {
	offset int64
	n      int
}

func logPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("log-%08d", number))
}

// newSegment makes a log. It is on the disk, name and all, when this returns.
func newSegment(d disk.FS, dir string, number uint64) (*segment, error) {
	s := &segment{number: number, path: logPath(dir, number), size: logHead, objects: map[object.ID]span{}}
	_, _ = rand.Read(s.mark[:]) // never fails
	var err error
	if s.file, err = d.Create(s.path); err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	_, err = s.file.Write(appendLogHead(nil, number, s.mark))
	if err == nil {
		err = s.file.Sync()
	}
	if err == nil {
		err = d.SyncDir(dir)
	}
	if err != nil {
		_ = s.file.Close()
		_ = d.Remove(s.path) // whatever stays of it is an empty log
		return nil, fmt.Errorf("make a log: %w", err)
	}
	return s, nil
}

func (s *segment) find(id object.ID) (span, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, ok := s.objects[id]
	return at, ok
}

// empty reports whether there is nothing to seal. The writer's.
func (s *segment) empty() bool { return !s.moved && len(s.objects) == 0 }
