// Package memory keeps the finished answers of the Responses API as files, so that a
// conversation goes on by the id of its last answer after the server was restarted.
//
// It owns one directory: how its files are named, written and bounded. It does not own
// what is in a record, which is package openai's. cmd/dure opens it and hands it to
// openai.
//
// Invariants:
//   - A record is there whole or not at all, also after a crash: it is written beside
//     its place, synced and renamed.
//   - All records together have at most MaxBytes, and none was unused for longer than
//     MaxAge once the next is kept; the longest unused go first. Recalling is using.
//   - Whoever may read a record may read what was said: files are for their owner only.
//
// Several processes may share a directory; what another one wrote is counted when the
// own records reach the bound, and when the directory is opened.
package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds, where Options has none.
const (
	DefaultBytes = 512 << 20
	DefaultAge   = 30 * 24 * time.Hour
)

// Format is the number of the form of the records, in the directory's name.
const Format = 1

const (
	suffix = ".json"
	part   = ".part"
	// abandoned is when a file that was never renamed belongs to nobody any more.
	abandoned = time.Hour
)

// Options are the bounds of a memory.
type Options struct {
	MaxBytes int64         // 0 = DefaultBytes
	MaxAge   time.Duration // 0 = DefaultAge
}

// Memory is a directory of records. It is safe for concurrent use.
type Memory struct {
	dir string
	opt Options

	mu  sync.Mutex
	sum int64 // bytes, as far as this process knows; counted anew when it is above the bound
}

// Open makes the directory responses-1 below home, if it is not there, and forgets what
// is beyond the bounds.
func Open(home string, opt Options) (*Memory, error) {
	if opt.MaxBytes == 0 {
		opt.MaxBytes = DefaultBytes
	}
	if opt.MaxAge == 0 {
		opt.MaxAge = DefaultAge
	}
	m := &Memory{dir: filepath.Join(home, fmt.Sprintf("responses-%d", Format)), opt: opt}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return nil, fmt.Errorf("open memory of responses: %w", err)
	}
	return m, m.bound(0)
}

// file is where a record is. Ids are letters, digits and underscores.
func (m *Memory) file(id string) (string, error) {
	bad := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_')
	}
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, bad) {
		return "", fmt.Errorf("response %q: %w", id, fs.ErrNotExist)
	}
	return filepath.Join(m.dir, id+suffix), nil
}

// Keep writes a record, over an earlier one of the same id. A record that is larger
// than all of the memory is an error.
func (m *Memory) Keep(id string, record []byte) error {
	if int64(len(record)) > m.opt.MaxBytes {
		return fmt.Errorf("keep response %s: its %d bytes are more than the memory has room for (%d)", id, len(record), m.opt.MaxBytes)
	}
	file, err := m.file(id)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.bound(int64(len(record))); err != nil {
		return err
	}
	if err := write(file, record); err != nil {
		return fmt.Errorf("keep response %s: %w", id, err)
	}
	m.sum += int64(len(record))
	return nil
}

func write(file string, record []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+"-*"+part)
	if err != nil {
		return err
	}
	_, err = tmp.Write(record)
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// Recall returns a record; the error is fs.ErrNotExist for one that is not there.
func (m *Memory) Recall(id string) ([]byte, error) {
	file, err := m.file(id)
	if err != nil {
		return nil, err
	}
	record, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("recall response: %w", err)
	}
	now := time.Now()
	if err := os.Chtimes(file, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("recall response: %w", err)
	}
	return record, nil
}

// Forget removes a record; the error is fs.ErrNotExist for one that is not there.
func (m *Memory) Forget(id string) error {
	file, err := m.file(id)
	if err != nil {
		return err
	}
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("forget response: %w", err)
	}
	return nil
}

// bound makes room for so many bytes more. The lock is held, or nobody else knows m.
func (m *Memory) bound(more int64) error {
	if m.sum > 0 && m.sum+more <= m.opt.MaxBytes {
		return nil
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return fmt.Errorf("bound memory of responses: %w", err)
	}
	var kept []fs.FileInfo
	m.sum = 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // another process removed it
		}
		switch age := time.Since(info.ModTime()); {
		case strings.HasSuffix(e.Name(), suffix) && age <= m.opt.MaxAge:
			kept = append(kept, info)
			m.sum += info.Size()
		case strings.HasSuffix(e.Name(), suffix), strings.HasSuffix(e.Name(), part) && age > abandoned:
			err = m.drop(info)
		}
		if err != nil {
			return err
		}
	}
	if m.sum+more <= m.opt.MaxBytes {
		return nil
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	// Some room beyond, so that not every record costs a look at all of them.
	for room := m.opt.MaxBytes - m.opt.MaxBytes/16; len(kept) > 0 && m.sum+more > room; kept = kept[1:] {
		if err := m.drop(kept[0]); err != nil {
			return err
		}
		m.sum -= kept[0].Size()
	}
	return nil
}

func (m *Memory) drop(info fs.FileInfo) error {
	err := os.Remove(filepath.Join(m.dir, info.Name()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("bound memory of responses: %w", err)
	}
	return nil
}
