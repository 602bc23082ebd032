package harvest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// A Folder is what sandbox.Box.Changes names.
type Folder struct {
	// Dir is the upper layer of an overlay over the base, or with Whole the whole tree.
	Dir   string
	Whole bool
}

// Options of a harvest.
type Options struct {
	Limits vcs.Limits
	// Ignored says which of these paths, which the base does not have, are left out. nil:
	// none.
	Ignored func(ctx context.Context, paths []string) (map[string]bool, error)
	// Leave names files that are never taken, wherever they lie.
	Leave []string
}

// A Harvest is what came of it.
type Harvest struct {
	Tree object.ID
	// Paths that were changed, added or removed, sorted.
	Paths []string
	// LeftOut are paths that a commit cannot hold, and why, in plain words. At most
	// maxLeftOut are listed.
	LeftOut []string
}

const maxLeftOut = 100

// ErrTooMuch: more, or larger files, than a commit takes.
var ErrTooMuch = errors.New("more than a commit takes")

// Read makes a tree of a base, which may be Zero, and what lies in a folder. New objects
// are in d. Errors: ErrTooMuch, those of the disk and of the store.
func Read(ctx context.Context, d *vcs.Draft, base object.ID, f Folder, opt Options) (Harvest, error) {
	h, err := read(ctx, d, base, f, opt)
	if err != nil {
		return h, fmt.Errorf("read the changes in %s: %w", f.Dir, err)
	}
	return h, nil
}

func read(ctx context.Context, d *vcs.Draft, base object.ID, f Folder, opt Options) (Harvest, error) {
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return Harvest{}, err
	}
	defer root.Close()
	w := &walk{ctx: ctx, d: d, base: base, root: root, whole: f.Whole, opt: opt}
	if err := w.folder(".", ""); err != nil {
		return Harvest{}, err
	}
	if f.Whole {
		if err := w.removed(); err != nil {
			return Harvest{}, err
		}
	}
	if err := w.ignore(); err != nil {
		return Harvest{}, err
	}
	if err := w.load(); err != nil {
		return Harvest{}, err
	}
	tree, err := d.Splice(ctx, base, w.changes)
	if err != nil {
		return Harvest{}, err
	}
	paths := make([]string, 0, len(w.changes))
	for _, c := range w.changes {
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	return Harvest{Tree: tree, Paths: slices.Compact(paths), LeftOut: w.left}, nil
}

// walk collects changes.
type walk struct {
	ctx   context.Context
	d     *vcs.Draft
	base  object.ID
	root  *os.Root
	whole bool
	opt   Options

	changes []vcs.Change
	seen    map[string]bool // of a whole tree: what is there
	fresh   []string        // of changes: not in the base
	left    []string
	bytes   int64
}

// folder walks a folder; at is its path in the tree, "" for the root.
func (w *walk) folder(dir, at string) error {
	f, err := w.root.Open(dir)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := w.entry(path.Join(at, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(at string, e fs.DirEntry) error {
	if slices.Contains(w.opt.Leave, e.Name()) {
		return nil
	}
	if err := object.CheckPath(at); err != nil {
		w.leave(at, err.Error())
		return nil
	}
	info, err := w.root.Lstat(at)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return w.subfolder(at)
	case mode.IsRegular():
		return w.put(at, modeOf(mode))
	case mode&fs.ModeSymlink != 0:
		return w.put(at, object.ModeLink)
	case !w.whole && whiteout(info):
		return w.remove(at)
	default:
		w.leave(at, "neither a file, nor a folder, nor a link")
	}
	return nil
}

func modeOf(mode fs.FileMode) object.Mode {
	if mode&0o100 != 0 {
		return object.ModeExecutable
	}
	return object.ModeFile
}

// whiteout reports whether an overlay shows that what is below is gone.
func whiteout(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Mode&syscall.S_IFMT == syscall.S_IFCHR && s.Rdev == 0
}

// subfolder walks a folder, which may stand in place of what the base has.
func (w *walk) subfolder(at string) error {
	if !w.whole {
		replaced, err := w.replaced(at)
		if err != nil {
			return err
		}
		if replaced {
			if err := w.remove(at); err != nil {
				return err
			}
		}
	}
	return w.folder(at, at)
}

// replaced reports whether a folder of an upper layer hides what is below: it is marked
// so, or a file is there.
func (w *walk) replaced(at string) (bool, error) {
	f, err := w.root.Open(at)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var value [8]byte
	n, err := unix.Fgetxattr(int(f.Fd()), "user.overlay.opaque", value[:])
	switch {
	case err == nil:
		return string(value[:n]) == "y", nil
	case errors.Is(err, unix.ENODATA), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ERANGE):
	default:
		return false, err
	}
	was, err := w.was(at)
	return was.Mode != 0 && was.Mode != object.ModeTree, err
}

// was is what the base has at a path; mode 0: nothing.
func (w *walk) was(at string) (object.Entry, error) {
	if w.base.IsZero() {
		return object.Entry{}, nil
	}
	e, err := vcs.Find(w.ctx, w.d, w.base, at)
	if errors.Is(err, vcs.ErrNoPath) {
		return object.Entry{}, nil
	}
	return e, err
}

// remove has a path go that the base has.
func (w *walk) remove(at string) error {
	was, err := w.was(at)
	if err == nil && was.Mode != 0 {
		w.changes = append(w.changes, vcs.Change{Path: at})
	}
	return err
}

// put notes a file or a link; what is in it is read later.
func (w *walk) put(at string, mode object.Mode) error {
	was, err := w.was(at)
	if err != nil {
		return err
	}
	switch was.Mode {
	case object.ModeTree:
		if !w.whole { // else each of its files is found to be gone
			if err := w.remove(at); err != nil {
				return err
			}
		}
		w.fresh = append(w.fresh, at)
	case 0:
		w.fresh = append(w.fresh, at)
	}
	if w.whole {
		if w.seen == nil {
			w.seen = map[string]bool{}
		}
		w.seen[at] = true
	}
	w.changes = append(w.changes, vcs.Change{Path: at, Mode: mode})
	if n := w.opt.Limits.Paths; n > 0 && len(w.changes) > n {
		return fmt.Errorf("%w: more than %d changed paths", ErrTooMuch, n)
	}
	return nil
}

func (w *walk) leave(at, why string) {
	if len(w.left) < maxLeftOut {
		w.left = append(w.left, fmt.Sprintf("%q: %s", at, why))
	}
}
