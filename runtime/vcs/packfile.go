package vcs

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"dure/runtime/vcs/disk"
	"dure/runtime/vcs/object"
	"dure/runtime/vcs/pack"
)

// A packFile is a sealed pack: a file and its index, which is held in memory. The
// file is closed when nothing refers to it any more.
type packFile struct {
	base  string // path without .pack
	file  disk.File
	size  int64
	index *pack.Index
	// deltas: entries refer to others, so that they cannot be copied as they are; true
	// or false only if known. The merger's.
	deltas, known bool
}

func openPack(d disk.FS, base string) (*packFile, error) {
	data, err := d.ReadFile(base + ".idx")
	if err != nil {
		return nil, fmt.Errorf("open a pack: %w", err)
	}
	index, err := pack.ParseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("open a pack: %s.idx: %w; `git index-pack %s.pack` makes it anew", base, err, base)
	}
	p := &packFile{base: base, index: index}
	if p.file, err = d.Open(base + ".pack"); err != nil {
		return nil, fmt.Errorf("open a pack: %w", err)
	}
	if p.size, err = p.file.Size(); err != nil {
		return nil, errors.Join(fmt.Errorf("open a pack: %w", err), p.file.Close())
	}
	var sum [pack.SumLen]byte
	_, err = p.file.ReadAt(sum[:], p.size-pack.SumLen)
	if p.size < pack.HeadLen+pack.SumLen || err != nil || sum != index.PackSum() {
		return nil, errors.Join(fmt.Errorf("open a pack: %s: %w: it does not end as its index says", base, ErrDamaged), p.file.Close())
	}
	return p, nil
}

// openPacks opens all packs of a folder. A pack without an index is what a crash
// left of one that was never counted on.
func openPacks(d disk.FS, dir string) ([]*packFile, error) {
	names, err := d.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open packs: %w", err)
	}
	var all []*packFile
	for _, n := range names {
		base, ok := strings.CutSuffix(n.Name(), ".idx")
		if !ok || !strings.HasPrefix(base, "pack-") {
			continue
		}
		p, err := openPack(d, filepath.Join(dir, base))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (p *packFile) find(id object.ID) (int64, bool) {
	offset, ok := p.index.Find(id)
	return int64(offset), ok
}
