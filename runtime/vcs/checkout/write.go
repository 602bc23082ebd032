package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// write makes a tree's folder, and returns the contents it has put there: those that
// it came to, if it fails.
func (c *Cache) write(ctx context.Context, r vcs.Reader, tree object.ID) (map[content]bool, error) {
	part, err := os.MkdirTemp(filepath.Join(c.dir, "trees"), "part-")
	if err != nil {
		return nil, err
	}
	w := &writing{c: c, r: r, files: c.opt.Files, bytes: c.opt.Bytes, contents: map[content]bool{}}
	if err = w.folder(ctx, tree, part); err == nil {
		err = os.Rename(part, c.path(tree))
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(part))
	}
	return w.contents, err
}

// A content is a file's bytes and whether it is executable.
type content struct {
	id         object.ID
	executable bool
}

// A writing is a tree in the making, and what of its limits is left.
type writing struct {
	c        *Cache
	r        vcs.Reader
	files    int
	bytes    int64
	contents map[content]bool
}

// folder fills a new folder.
func (w *writing) folder(ctx context.Context, tree object.ID, dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask is
		return err
	}
	data, err := w.r.Tree(ctx, tree)
	if err != nil {
		return err
	}
	entries, err := object.CheckTree(data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if w.files--; w.files < 0 {
			return fmt.Errorf("%w: more than %d files and folders", ErrTooLarge, w.c.opt.Files)
		}
		if err := w.entry(ctx, e, filepath.Join(dir, e.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (w *writing) entry(ctx context.Context, e object.Entry, path string) error {
	switch e.Mode {
	case object.ModeTree:
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		return w.folder(ctx, e.ID, path)
	case object.ModeGitlink: // git leaves an empty folder, too
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	case object.ModeLink:
		target, err := w.r.Blob(ctx, e.ID)
		if err != nil {
			return err
		}
		return os.Symlink(string(target), path)
	default:
		return w.file(ctx, content{e.ID, e.Mode == object.ModeExecutable}, path)
	}
}

// file links a content that is there, or makes it.
func (w *writing) file(ctx context.Context, what content, path string) error {
	w.contents[what] = true
	blob := w.c.blob(what)
	info, err := os.Lstat(blob)
	if err == nil {
		if w.bytes -= info.Size(); w.bytes < 0 {
			return w.tooLarge()
		}
		if err = os.Link(blob, path); err == nil {
			return nil
		}
	}
	// Not there, or gone meanwhile, or linked as often as the file system allows.
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EMLINK) {
		return err
	}
	data, err := w.r.Blob(ctx, what.id)
	if err != nil {
		return err
	}
	if info == nil {
		if w.bytes -= int64(len(data)); w.bytes < 0 {
			return w.tooLarge()
		}
	}
	if err := writeFile(path, data, what.executable); err != nil {
		return err
	}
	// It is kept as a link to the file in the tree, where it is whole. Another may have
	// been faster.
	if err := os.MkdirAll(filepath.Dir(blob), 0o711); err != nil {
		return err
	}
	if err := os.Link(path, blob); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (w *writing) tooLarge() error {
	return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, w.c.opt.Bytes)
}

// blob is the path of a content.
func (c *Cache) blob(what content) string {
	name := what.id.String()
	if what.executable {
		name += "-x"
	}
	return filepath.Join(c.dir, "blobs", name[:2], name[2:])
}

func writeFile(path string, data []byte, executable bool) error {
	mode := fs.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask is
	}
	return errors.Join(err, f.Close())
}
