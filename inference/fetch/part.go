package fetch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The names of an unfinished file in downloads, and of what is known of it.
const (
	partSuffix  = ".part"
	stateSuffix = ".part.json"
)

// partFormat goes up when an earlier dure must not go on with a part. Without the
// field, from before it, the rest is the same.
const partFormat = 1

// part is what is on the disk of an unfinished file, cut into segments of equal
// size (the last may be shorter). It is written as JSON after the bytes that it
// speaks of were flushed, so it never promises more than is there.
type part struct {
	Format  int    `json:"format"`
	Bytes   int64  `json:"bytes"`
	Hash    string `json:"hash"`
	ETag    string `json:"etag,omitempty"`
	Segment int64  `json:"segment"`
	// Done is how many bytes of each segment are there, from its start on.
	Done []int64 `json:"done"`
}

func newPart(r Remote, h Hash, segment int64) part {
	if !r.Ranges {
		segment = r.Bytes
	}
	return part{Format: partFormat, Bytes: r.Bytes, Hash: h.String(), ETag: r.ETag, Segment: segment, Done: make([]int64, (r.Bytes+segment-1)/segment)}
}

// span is where segment i lies, to not included.
func (p *part) span(i int) (from, to int64) {
	from = int64(i) * p.Segment
	return from, min(from+p.Segment, p.Bytes)
}

func (p *part) done() int64 {
	var sum int64
	for _, n := range p.Done {
		sum += n
	}
	return sum
}

// continues reports whether the bytes of p belong to the file that a server now
// has. The same hash told by the server outweighs another ETag: hubs change
// those with the store that delivers.
func (p *part) continues(r Remote, h Hash) bool {
	if p.Bytes != r.Bytes || p.Hash != h.String() || !r.Ranges {
		return false
	}
	return p.ETag == r.ETag || r.Hash == h
}

// sound checks what was read from a file.
func (p *part) sound() bool {
	if p.Bytes <= 0 || p.Segment <= 0 || int64(len(p.Done)) != (p.Bytes-1)/p.Segment+1 {
		return false
	}
	for i, n := range p.Done {
		if from, to := p.span(i); n < 0 || n > to-from {
			return false
		}
	}
	return true
}

// readPart returns what is known of an unfinished file; false where nothing is,
// or nothing that can be used.
func readPart(state, file string) (part, bool) {
	var p part
	data, err := os.ReadFile(state)
	if err != nil || CheckFormat(state, data, partFormat) != nil || json.Unmarshal(data, &p) != nil || !p.sound() {
		return part{}, false
	}
	p.Format = partFormat // the next write upgrades it
	info, err := os.Stat(file)
	return p, err == nil && info.Mode().IsRegular() && info.Size() == p.Bytes
}

// mayReplacePart refuses to begin a file of which a later dure has a part.
func mayReplacePart(state string) error {
	data, err := os.ReadFile(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return CheckFormat(state, data, partFormat)
}

// write replaces the state file.
func (p *part) write(state string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	next := state + ".new"
	if err := os.WriteFile(next, data, 0o644); err != nil {
		return err
	}
	if err := syncPath(next); err != nil {
		return err
	}
	return os.Rename(next, state)
}

// openPart opens the unfinished file in its full size. Where the file system can,
// the room is taken now: a disk that fills up later does not stop the download.
func openPart(path string, bytes int64) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = ignoringEINTR(func() error { return unix.Fallocate(int(file.Fd()), 0, 0, bytes) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		err = nil
	}
	if err == nil {
		err = file.Truncate(bytes)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func ignoringEINTR(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Missing is the room in bytes that a download of this file still needs.
func (f *Fetcher) Missing(l Link, bytes int64) uint64 {
	for _, name := range []string{l.File, l.File + partSuffix} {
		if info, err := os.Stat(filepath.Join(f.Downloads(), name)); err == nil {
			st, ok := info.Sys().(*syscall.Stat_t)
			if !ok {
				return uint64(bytes)
			}
			return uint64(max(0, bytes-st.Blocks*512))
		}
	}
	return uint64(bytes)
}

// Fetched is how many bytes of a download are here: all of a finished one, and of
// an unfinished one those that the next pull need not fetch again. That is less
// than what it takes on the disk, where the room for all of it was taken.
func (f *Fetcher) Fetched(file string) int64 {
	path := filepath.Join(f.Downloads(), file)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	p, ok := readPart(path+stateSuffix, path+partSuffix)
	if !ok {
		return 0
	}
	return p.done()
}

// DropDownload removes what is here of a file, finished or not. The caller knows
// that nobody is fetching it.
func (f *Fetcher) DropDownload(l Link) error {
	var errs []error
	for _, suffix := range []string{"", stateSuffix, stateSuffix + ".new", partSuffix} {
		if err := os.Remove(filepath.Join(f.Downloads(), l.File+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// PartOf takes the name of a file in downloads apart: the name of the whole, and
// whether this is only a part of it or its note.
func PartOf(name string) (whole string, part bool) {
	for _, suffix := range []string{stateSuffix + ".new", stateSuffix, partSuffix} {
		if whole, ok := strings.CutSuffix(name, suffix); ok {
			return whole, true
		}
	}
	return name, false
}
