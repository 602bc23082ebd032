package harvest

import (
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// ignore takes the paths out that the agent's own rules ignore.
func (w *walk) ignore() error {
	if w.opt.Ignored == nil || len(w.fresh) == 0 {
		return nil
	}
	ignored, err := w.opt.Ignored(w.ctx, w.fresh)
	if err != nil {
		return err
	}
	fresh := map[string]bool{}
	for _, at := range w.fresh {
		fresh[at] = true
	}
	w.changes = slices.DeleteFunc(w.changes, func(c vcs.Change) bool { return c.Mode != 0 && fresh[c.Path] && ignored[c.Path] })
	return nil
}

// load reads the files and links that changed.
func (w *walk) load() error {
	kept := w.changes[:0]
	for _, c := range w.changes {
		if c.Mode != 0 {
			data, err := w.content(c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Path, err)
			}
			c.Blob = w.d.PutBlob(data)
			was, err := w.was(c.Path)
			if err != nil {
				return err
			}
			if was.Mode == c.Mode && was.ID == c.Blob {
				continue // it was only touched
			}
		}
		kept = append(kept, c)
	}
	w.changes = kept
	return nil
}

func (w *walk) content(c vcs.Change) ([]byte, error) {
	if c.Mode == object.ModeLink {
		target, err := w.root.Readlink(c.Path)
		return []byte(target), err
	}
	// A pipe that took the file's place must not hold us up, nor a link lead elsewhere.
	f, err := w.root.OpenFile(c.Path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it changed while it was read")
	}
	limit := w.opt.Limits.Blob
	if limit <= 0 {
		limit = info.Size()
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	w.bytes += int64(len(data))
	switch {
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%w: a file may have %d bytes", ErrTooMuch, limit)
	case w.opt.Limits.Commit > 0 && w.bytes > w.opt.Limits.Commit:
		return nil, fmt.Errorf("%w: all files together may have %d bytes", ErrTooMuch, w.opt.Limits.Commit)
	}
	return data, nil
}

// removed notes what the base has and a whole tree has not.
func (w *walk) removed() error {
	if w.base.IsZero() {
		return nil
	}
	return w.gone(w.base, "")
}

func (w *walk) gone(tree object.ID, at string) error {
	data, err := w.d.Tree(w.ctx, tree)
	if err != nil {
		return err
	}
	entries, err := object.ParseTree(data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name
		if at != "" {
			name = at + "/" + e.Name
		}
		if e.Mode == object.ModeTree && !w.seen[name] {
			if err := w.gone(e.ID, name); err != nil {
				return err
			}
			continue
		}
		// A submodule is an empty folder in a checkout.
		if e.Mode == object.ModeTree || e.Mode != object.ModeGitlink && !w.seen[name] {
			w.changes = append(w.changes, vcs.Change{Path: name})
		}
	}
	return nil
}
