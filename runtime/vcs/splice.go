package vcs

import (
	"context"
	"fmt"
	"strings"

	"dure/runtime/vcs/object"
)

// A Change is one path of a delta. Of a delta, deletes are carried out first, so
// that a file may take the place of a folder.
type Change struct {
	Path string
	// Mode is that of a file, an executable, or a symbolic link, whose content is its
	// target. 0 deletes the path, a folder with all below it.
	Mode object.Mode
	// Data is the new content, unless Blob names it: an object of the store or the draft.
	Data []byte
	Blob object.ID
}

// A node is a name of a tree that changes.
type node struct {
	path   string
	remove bool
	put    *Change
	below  map[string]*node
}

// Splice is a tree after changes: only the trees on their paths are written anew.
// root may be Zero, an empty tree. Folders that become empty go, as git has none.
func (d *Draft) Splice(ctx context.Context, root object.ID, changes []Change) (object.ID, error) {
	top, err := d.plan(ctx, changes)
	if err != nil {
		return object.Zero, err
	}
	if root.IsZero() {
		root = emptyTree
	}
	id, err := d.splice(ctx, root, top)
	if id.IsZero() && err == nil {
		id = d.put(object.TypeTree, nil)
	}
	return id, err
}

// plan checks changes by themselves and puts them in the form of a tree.
func (d *Draft) plan(ctx context.Context, changes []Change) (*node, error) {
	limits := d.r.opt.Limits
	if len(changes) > limits.Paths {
		return nil, fmt.Errorf("%w: %d changed paths; the limit is %d", ErrTooLarge, len(changes), limits.Paths)
	}
	top := new(node)
	var total int64
	for i := range changes {
		c := &changes[i]
		if err := object.CheckPath(c.Path); err != nil {
			return nil, err
		}
		total += int64(len(c.Data))
		if c.Mode != 0 {
			if err := d.checkPut(ctx, c); err != nil {
				return nil, err
			}
		}
		if err := top.enter(c); err != nil {
			return nil, err
		}
	}
	if total > limits.Commit {
		return nil, fmt.Errorf("%w: %d bytes of files; the limit is %d", ErrTooLarge, total, limits.Commit)
	}
	return top, nil
}

func (d *Draft) checkPut(ctx context.Context, c *Change) error {
	name := c.Path[strings.LastIndexByte(c.Path, '/')+1:]
	switch {
	case c.Mode == object.ModeGitlink || object.IsModules(name):
		return &object.PathError{Path: c.Path, Why: "submodules are not taken from agents"}
	case !c.Mode.IsBlob():
		return &object.PathError{Path: c.Path, Why: fmt.Sprintf("mode %v is neither a file, an executable nor a symbolic link", c.Mode)}
	case c.Mode == object.ModeLink && c.Blob.IsZero() && (len(c.Data) == 0 || len(c.Data) > object.MaxPath):
		return &object.PathError{Path: c.Path, Why: "a symbolic link with an empty or too long target"}
	}
	size := uint64(len(c.Data))
	if !c.Blob.IsZero() {
		if c.Data != nil {
			return fmt.Errorf("%w: path %q: both content and an object", ErrInvalid, c.Path)
		}
		t, n, err := d.stat(ctx, c.Blob)
		if err != nil {
			return fmt.Errorf("path %q: %w", c.Path, err)
		}
		if t != object.TypeBlob {
			return fmt.Errorf("path %q: object %v is a %v: %w", c.Path, c.Blob, t, ErrType)
		}
		size = n
	}
	if size > uint64(d.r.opt.Limits.Blob) {
		return fmt.Errorf("%w: path %q: %d bytes; the limit is %d", ErrTooLarge, c.Path, size, d.r.opt.Limits.Blob)
	}
	if object.IsAttributes(name) {
		data := c.Data
		if !c.Blob.IsZero() {
			var err error
			if data, err = d.Blob(ctx, c.Blob); err != nil {
				return fmt.Errorf("path %q: %w", c.Path, err)
			}
		}
		return object.CheckAttributes(c.Path, data)
	}
	return nil
}

func (n *node) enter(c *Change) error {
	for name := range strings.SplitSeq(c.Path, "/") {
		if n.put != nil {
			return fmt.Errorf("%w: path %q lies below %q, which becomes a file", ErrInvalid, c.Path, n.path)
		}
		if n.below == nil {
			n.below = map[string]*node{}
		}
		next := n.below[name]
		if next == nil {
			next = new(node)
			n.below[name] = next
		}
		n = next
	}
	n.path = c.Path
	switch {
	case c.Mode == 0 && n.remove, c.Mode != 0 && n.put != nil:
		return fmt.Errorf("%w: path %q twice", ErrInvalid, c.Path)
	case c.Mode == 0:
		n.remove = true
	case n.puts():
		return fmt.Errorf("%w: path %q becomes a file, and another lies below it", ErrInvalid, c.Path)
	default:
		n.put = c
	}
	return nil
}

// puts reports whether something is put below.
func (n *node) puts() bool {
	for _, b := range n.below {
		if b.put != nil || b.puts() {
			return true
		}
	}
	return false
}

// splice is a folder after its changes; Zero if nothing is left in it.
func (d *Draft) splice(ctx context.Context, tree object.ID, n *node) (object.ID, error) {
	data, err := d.Tree(ctx, tree)
	if err != nil {
		return object.Zero, err
	}
	edits := make([]object.Entry, 0, len(n.below))
	for name, b := range n.below {
		old, found, err := object.FindEntry(data, name)
		if err != nil {
			return object.Zero, fmt.Errorf("tree %v: %w", tree, err)
		}
		e, err := d.spliceEntry(ctx, old, found, b)
		if err != nil {
			return object.Zero, err
		}
		e.Name = name
		edits = append(edits, e)
	}
	out, err := object.Edit(data, edits)
	if err != nil {
		return object.Zero, fmt.Errorf("tree %v: %w", tree, err)
	}
	if len(out) == 0 {
		return object.Zero, nil
	}
	return d.put(object.TypeTree, out), nil
}

// spliceEntry is an entry after its changes; one with mode 0 goes.
func (d *Draft) spliceEntry(ctx context.Context, old object.Entry, found bool, n *node) (object.Entry, error) {
	if n.remove {
		if !found {
			return object.Entry{}, fmt.Errorf("delete %q: %w", n.path, ErrNoPath)
		}
		found = false
	}
	if n.put != nil {
		if found && old.Mode == object.ModeTree {
			return object.Entry{}, &object.PathError{Path: n.path, Why: "a folder is there: delete it in the same commit"}
		}
		id := n.put.Blob
		if id.IsZero() {
			id = d.PutBlob(n.put.Data)
		}
		return object.Entry{Mode: n.put.Mode, ID: id}, nil
	}
	if len(n.below) == 0 {
		return object.Entry{}, nil
	}
	sub := emptyTree
	if found {
		if old.Mode != object.ModeTree {
			return object.Entry{}, &object.PathError{Path: n.anyPath(), Why: fmt.Sprintf("%q is no folder: delete it in the same commit", old.Name)}
		}
		sub = old.ID
	}
	id, err := d.splice(ctx, sub, n)
	if err != nil || id.IsZero() {
		return object.Entry{}, err
	}
	return object.Entry{Mode: object.ModeTree, ID: id}, nil
}

// anyPath is one of the changed paths at or below a node, for an error.
func (n *node) anyPath() string {
	for n.path == "" {
		for _, b := range n.below {
			n = b
			break
		}
	}
	return n.path
}
