package sqlite

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// A disk is a VFS over the system's that remembers what a power cut would leave of
// each file: what was there at the last flush, and some of what was written since.
type disk struct {
	vfs.VFS
	mu    sync.Mutex
	files map[string]*platter
	lies  bool // Sync flushes nothing
}

// A platter is a file. Changes since the last flush are kept one by one.
type platter struct {
	flushed []byte
	there   bool // its name was flushed
	changes []change
	size    int64
}

// A change is a write, or with data nil a truncation.
type change struct {
	at   int64
	data []byte
}

// newDisk registers a disk under a name.
func newDisk(name string) *disk {
	d := &disk{VFS: vfs.Find(""), files: make(map[string]*platter)}
	vfs.Register(name, d)
	return d
}

func (d *disk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	return d.VFS.Open(name, flags)
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := vfsutil.WrapOpenFilename(d.VFS, name, flags)
	if err != nil || flags&(vfs.OPEN_MAIN_DB|vfs.OPEN_WAL|vfs.OPEN_MAIN_JOURNAL) == 0 {
		return file, flags, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	base := filepath.Base(name.String())
	if d.files[base] == nil {
		d.files[base] = &platter{}
	}
	return &diskFile{File: file, disk: d, platter: d.files[base]}, flags, nil
}

func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, filepath.Base(name))
	return d.VFS.Delete(name, syncDir)
}

type diskFile struct {
	vfs.File
	disk    *disk
	platter *platter
}

func (f *diskFile) Unwrap() vfs.File { return f.File }

func (f *diskFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }

func (f *diskFile) WriteAt(p []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	grown := max(0, at+int64(len(p))-f.platter.size)
	n, err := f.File.WriteAt(p, at)
	if err == nil {
		f.platter.changes = append(f.platter.changes, change{at, bytes.Clone(p)})
		f.platter.size += grown
	}
	return n, err
}

func (f *diskFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	err := f.File.Truncate(size)
	if err == nil {
		f.platter.changes = append(f.platter.changes, change{at: size})
		f.platter.size = size
	}
	return err
}

func (f *diskFile) Sync(vfs.SyncFlag) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.lies {
		return nil
	}
	for _, c := range f.platter.changes {
		f.platter.flushed = c.apply(f.platter.flushed)
	}
	f.platter.changes, f.platter.there = nil, true
	return nil
}

func (c change) apply(to []byte) []byte {
	if c.data == nil {
		return append(to, make([]byte, max(0, c.at-int64(len(to))))...)[:c.at]
	}
	end := c.at + int64(len(c.data))
	to = append(to, make([]byte, max(0, end-int64(len(to))))...)
	copy(to[c.at:], c.data)
	return to
}

const sector = 512

// cut is the power cut: the files as they could be found afterwards, in a new
// folder. Of what was not flushed nothing is there, or all, or any sectors of any
// of it, and some sectors are noise.
func (d *disk) cut(t *testing.T, rng *rand.Rand) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := t.TempDir()
	for name, p := range d.files {
		data, there := slices.Clone(p.flushed), p.there
		switch rng.IntN(4) {
		case 0:
		case 1:
			for _, c := range p.changes {
				data = c.apply(data)
			}
			there = true
		default:
			for _, c := range p.changes {
				data = c.torn(data, rng)
			}
			there = there || rng.IntN(2) == 0
		}
		if !there {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (c change) torn(to []byte, rng *rand.Rand) []byte {
	if c.data == nil {
		if rng.IntN(2) == 0 {
			return to
		}
		return c.apply(to)
	}
	for from := int64(0); from < int64(len(c.data)); {
		// Sectors lie on the disk, not in the write.
		upto := min((c.at+from)/sector*sector+sector-c.at, int64(len(c.data)))
		part := change{c.at + from, slices.Clone(c.data[from:upto])}
		switch rng.IntN(8) {
		case 0:
			for i := range part.data {
				part.data[i] = byte(rng.Uint32())
			}
			to = part.apply(to)
		case 1, 2, 3, 4:
			to = part.apply(to)
		}
		from = upto
	}
	return to
}
