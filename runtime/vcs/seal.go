package vcs

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"dure/runtime/vcs/object"
	"dure/runtime/vcs/pack"
)

// A sealJob is a log that becomes a pack, and the refs as they were at its end.
type sealJob struct {
	segment *segment
	refs    []Ref // nil: none moved in it
	waiting []chan error
}

// seal makes a log's objects a pack and its moves packed-refs, in this order, so
// that every ref names what plain git finds; then the log goes. It may be done
// again from any point on.
func (r *Repository) seal(job *sealJob) error {
	p, err := r.sealObjects(job.segment)
	if err != nil {
		return fmt.Errorf("seal log %d: %w", job.segment.number, err)
	}
	if job.refs != nil {
		if err := r.writePackedRefs(job.refs); err != nil {
			return fmt.Errorf("seal log %d: %w", job.segment.number, err)
		}
	}
	r.changeView(func(v *view) {
		v.segments = slices.DeleteFunc(v.segments, func(s *segment) bool { return s == job.segment })
		if p != nil {
			v.packs = append([]*packFile{p}, v.packs...)
		}
	})
	r.counters.seals.Add(1)
	return r.removeLog(job.segment)
}

// removeLog removes a log for good: were it to come back after a later one was
// sealed, its moves would be taken for news.
func (r *Repository) removeLog(s *segment) error {
	if err := r.opt.Disk.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove log %d: %w", s.number, err)
	}
	return r.opt.Disk.SyncDir(r.own)
}

// sealObjects writes a log's objects as a pack; nil if it has none.
func (r *Repository) sealObjects(s *segment) (*packFile, error) {
	type item struct {
		id object.ID
		at span
	}
	s.mu.RLock()
	items := make([]item, 0, len(s.objects))
	for id, at := range s.objects {
		items = append(items, item{id, at})
	}
	s.mu.RUnlock()
	if len(items) == 0 {
		return nil, nil
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.at.offset, b.at.offset) })
	in := &entryReader{in: bufio.NewReaderSize(io.NewSectionReader(s.file, 0, math.MaxInt64), 1<<18)}
	return r.writePack(len(items), func(b *pack.Builder) error {
		for _, it := range items {
			entry, err := in.next(it.at.offset, it.at.n)
			if err != nil {
				return fmt.Errorf("read the log: %w", err)
			}
			if err := b.Add(it.id, entry); err != nil {
				return err
			}
		}
		return nil
	})
}

// An entryReader reads entries of a file in rising order, in large pieces.
type entryReader struct {
	in  *bufio.Reader
	at  int64
	buf []byte
}

func (e *entryReader) next(offset int64, n int) ([]byte, error) {
	if _, err := e.in.Discard(int(offset - e.at)); err != nil {
		return nil, err
	}
	if cap(e.buf) < n {
		e.buf = make([]byte, n)
	}
	e.at = offset + int64(n)
	_, err := io.ReadFull(e.in, e.buf[:n])
	return e.buf[:n], err
}

// writePack writes a pack of n objects that fill adds, with its index, and gives
// both their names when they are whole and on the disk: first the pack, for git
// looks for indexes.
func (r *Repository) writePack(n int, fill func(*pack.Builder) error) (*packFile, error) {
	d := r.opt.Disk
	tmp := filepath.Join(r.own, fmt.Sprintf("tmp-%d", r.tmp.Add(1)))
	index, sum, err := r.writePackData(tmp+".pack", n, fill)
	if err == nil {
		err = writeNew(d, tmp+".idx", index)
	}
	base := filepath.Join(r.packDir, "pack-"+hex.EncodeToString(sum[:]))
	if err == nil {
		err = d.Rename(tmp+".pack", base+".pack")
	}
	if err == nil {
		err = d.Rename(tmp+".idx", base+".idx")
	}
	if err == nil {
		err = d.SyncDir(r.packDir)
	}
	if err != nil {
		_, _ = d.Remove(tmp+".pack"), d.Remove(tmp+".idx") // Open removes what stays
		return nil, fmt.Errorf("write a pack: %w", err)
	}
	p, err := openPack(d, base)
	if err == nil {
		p.known = true // what is written here has none
	}
	return p, err
}

func (r *Repository) writePackData(path string, n int, fill func(*pack.Builder) error) (index []byte, sum [pack.SumLen]byte, err error) {
	f, err := r.opt.Disk.Create(path)
	if err != nil {
		return nil, sum, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	out := bufio.NewWriterSize(f, 1<<18)
	b, err := pack.NewBuilder(out, n)
	if err == nil {
		err = fill(b)
	}
	if err == nil {
		index, sum, err = b.Finish()
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return index, sum, err
}
