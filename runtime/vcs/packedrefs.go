package vcs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dure/runtime/vcs/disk"
	"dure/runtime/vcs/object"
)

// writeNew makes a file in place of one that a crash may have left.
func writeNew(d disk.FS, path string, data []byte) error {
	if err := d.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return disk.WriteFile(d, path, data)
}

// replace gives a file new content, on the disk when it returns; readers see the
// one or the other. The name that git would lock the file by stands in for it, so
// that a git that wants to write it at this moment gives way.
func replace(d disk.FS, path string, data []byte) error {
	if err := writeNew(d, path+".lock", data); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if err := d.Rename(path+".lock", path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return d.SyncDir(filepath.Dir(path))
}

func (r *Repository) writePackedRefs(refs []Ref) error {
	var b bytes.Buffer
	b.WriteString("# pack-refs with: sorted \n")
	for _, ref := range refs {
		b.WriteString(ref.ID.String())
		b.WriteByte(' ')
		b.WriteString(ref.Name)
		b.WriteByte('\n')
	}
	return replace(r.opt.Disk, filepath.Join(r.dir, "packed-refs"), b.Bytes())
}

// readRefs reads packed-refs, and refs that lie in files of their own: those count
// more, as they do for git, and are only there when another program has made them.
func (r *Repository) readRefs() (loose []string, err error) {
	data, err := r.opt.Disk.ReadFile(filepath.Join(r.dir, "packed-refs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read refs: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' || line[0] == '^' {
			continue
		}
		hex, name, _ := strings.Cut(line, " ")
		id, err := object.ParseID(hex)
		if err != nil || name == "" {
			return nil, fmt.Errorf("read packed-refs: %w: line %q", ErrDamaged, line)
		}
		r.refs.set([]Move{{Ref: name, New: id}})
	}
	return r.readLooseRefs("refs")
}

func (r *Repository) readLooseRefs(name string) (loose []string, err error) {
	entries, err := r.opt.Disk.ReadDir(filepath.Join(r.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read refs: %w", err)
	}
	for _, e := range entries {
		below := name + "/" + e.Name()
		if e.IsDir() {
			more, err := r.readLooseRefs(below)
			if err != nil {
				return nil, err
			}
			loose = append(loose, more...)
			continue
		}
		data, err := r.opt.Disk.ReadFile(filepath.Join(r.dir, below))
		if err != nil {
			return nil, fmt.Errorf("read refs: %w", err)
		}
		id, err := object.ParseID(strings.TrimSuffix(string(data), "\n"))
		if err != nil {
			return nil, fmt.Errorf("ref %s: %w: %w; remove the file, or run `git pack-refs --all` before", below, ErrForeign, err)
		}
		r.refs.set([]Move{{Ref: below, New: id}})
		loose = append(loose, below)
	}
	return loose, nil
}
