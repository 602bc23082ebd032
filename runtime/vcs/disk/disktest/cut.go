package disktest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// After makes a folder as a power cut after so many things done may have left it.
func (r *Recorder) After(moment int, rnd *rand.Rand, into string) error {
	r.mu.Lock()
	ops := slices.Clone(r.ops[:moment])
	r.mu.Unlock()
	d := newDevice()
	for _, o := range ops {
		d.do(o)
	}
	d.cut(rnd)
	return d.write(into)
}

// A device is what is surely on the disk, and what may be.
type device struct {
	dirs  []string
	files map[int]*inode
	names map[string]int // durable
	// pending are the changes of names since their folder's last flush, in order.
	pending map[string][]op
}

type inode struct {
	durable []byte
	pending []op
}

func newDevice() *device {
	return &device{files: map[int]*inode{}, names: map[string]int{}, pending: map[string][]op{}}
}

func (d *device) do(o op) {
	switch o.kind {
	case opCreate:
		d.files[o.file] = new(inode)
		d.later(o.path, o)
	case opWrite, opTruncate:
		f := d.files[o.file]
		f.pending = append(f.pending, o)
	case opSync:
		f := d.files[o.file]
		for _, p := range f.pending {
			f.durable = apply(f.durable, p)
		}
		f.pending = nil
	case opRename:
		// Into another folder: on the disk with the flush of the new one.
		d.settle(o)
		d.later(o.to, o)
	case opRemove:
		d.later(o.path, o)
	case opMkdir:
		d.dirs = append(d.dirs, o.path)
	case opSyncDir:
		for _, p := range d.pending[o.path] {
			d.name(p)
		}
		delete(d.pending, o.path)
	}
}

// settle makes the creation of what is renamed durable: a rename in a journal never
// comes before the name that it takes.
func (d *device) settle(o op) {
	from := filepath.Dir(o.path)
	d.pending[from] = slices.DeleteFunc(d.pending[from], func(p op) bool {
		mine := p.kind == opCreate && p.path == o.path
		if mine {
			d.name(p)
		}
		return mine
	})
}

func (d *device) later(path string, o op) {
	dir := filepath.Dir(path)
	d.pending[dir] = append(d.pending[dir], o)
}

func (d *device) name(o op) {
	switch o.kind {
	case opCreate:
		d.names[o.path] = o.file
	case opRename:
		if file, ok := d.names[o.path]; ok {
			d.names[o.to] = file
			delete(d.names, o.path)
		}
	case opRemove:
		delete(d.names, o.path)
	}
}

func apply(data []byte, o op) []byte {
	if o.kind == opTruncate {
		return data[:min(int64(len(data)), o.size)]
	}
	return append(slices.Clone(data), o.data...)
}

// cut decides what of the pending becomes durable.
func (d *device) cut(rnd *rand.Rand) {
	var dirs []string
	for dir := range d.pending {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs) // so that one seed gives one result
	for _, dir := range dirs {
		for _, o := range d.pending[dir][:rnd.IntN(len(d.pending[dir])+1)] {
			d.name(o)
		}
	}
	for n := range len(d.files) {
		f := d.files[n+1]
		keep := rnd.IntN(len(f.pending) + 1)
		for _, o := range f.pending[:keep] {
			f.durable = apply(f.durable, o)
		}
		if keep < len(f.pending) && f.pending[keep].kind == opWrite {
			f.durable = append(slices.Clone(f.durable), tear(rnd, f.pending[keep].data)...)
		}
	}
}

const sector = 512

// tear is a part of a write: cut off somewhere, with sectors that never came.
func tear(rnd *rand.Rand, data []byte) []byte {
	data = slices.Clone(data[:rnd.IntN(len(data)+1)])
	if rnd.IntN(2) == 0 {
		return data
	}
	for at := 0; at < len(data); at += sector {
		if rnd.IntN(3) == 0 {
			clear(data[at:min(at+sector, len(data))])
		}
	}
	return data
}

func (d *device) write(into string) error {
	for _, dir := range d.dirs {
		if err := os.MkdirAll(filepath.Join(into, dir), 0o700); err != nil {
			return err
		}
	}
	for name, file := range d.names {
		if err := os.WriteFile(filepath.Join(into, name), d.files[file].durable, 0o600); err != nil {
			return err
		}
	}
	return nil
}
