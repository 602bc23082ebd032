package vcs

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"dure/runtime/vcs/object"
	"dure/runtime/vcs/pack"
)

// A Draft collects new objects on top of the repository, and reads both. Objects
// are hashed and deflated by who puts them. Nothing of it is durable, or seen by
// others, before Apply. It belongs to one goroutine at a time.
type Draft struct {
	r       *Repository
	objects map[object.ID]drafted
	order   []object.ID
}

type drafted struct {
	typ   object.Type
	data  []byte
	entry []byte
}

// Draft is a new, empty draft.
func (r *Repository) Draft() *Draft {
	return &Draft{r: r, objects: map[object.ID]drafted{}}
}

// find is for Apply, which may have no draft.
func (d *Draft) find(id object.ID) (drafted, bool) {
	if d == nil {
		return drafted{}, false
	}
	o, ok := d.objects[id]
	return o, ok
}

func (d *Draft) put(t object.Type, data []byte) object.ID {
	id := object.Hash(t, data)
	if _, ok := d.objects[id]; ok || d.r.Has(id) {
		return id
	}
	d.objects[id] = drafted{t, data, pack.AppendEntry(nil, t, data)}
	d.order = append(d.order, id)
	return id
}

// take is the objects as the writer wants them, in the order of their making: what
// one refers to stands before it.
func (d *Draft) take() (objects []stored, bytes int) {
	objects = make([]stored, 0, len(d.order))
	for _, id := range d.order {
		o := d.objects[id]
		objects = append(objects, stored{id, o.typ, o.entry})
		bytes += len(o.entry)
	}
	return objects, bytes
}

// applied empties a draft whose objects are in the store. The next commit on top
// begins with its trees.
func (d *Draft) applied() {
	for id, o := range d.objects {
		if o.typ != object.TypeBlob {
			d.r.cache.put(id, o.typ, o.data)
		}
	}
	clear(d.objects)
	d.order = d.order[:0]
}

// PutBlob adds a file. data must not be changed afterwards.
func (d *Draft) PutBlob(data []byte) object.ID { return d.put(object.TypeBlob, data) }

// PutTree adds a tree of entries in their order. Their objects must be there.
func (d *Draft) PutTree(entries []object.Entry) (object.ID, error) {
	data := object.FormatTree(entries)
	if _, err := object.CheckTree(data); err != nil {
		return object.Zero, fmt.Errorf("put a tree: %w", err)
	}
	for _, e := range entries {
		if _, ok := d.objects[e.ID]; !ok && e.Mode != object.ModeGitlink && e.ID != emptyTree && !d.r.Has(e.ID) {
			return object.Zero, fmt.Errorf("put a tree: %q: object %v: %w", e.Name, e.ID, ErrNotFound)
		}
	}
	return d.put(object.TypeTree, data), nil
}

// PutCommit adds a commit. Its tree and parents must be there.
func (d *Draft) PutCommit(ctx context.Context, c object.Commit) (object.ID, error) {
	if err := d.checkCommit(ctx, c); err != nil {
		return object.Zero, fmt.Errorf("put a commit: %w", err)
	}
	if !strings.HasSuffix(c.Message, "\n") {
		c.Message += "\n"
	}
	return d.put(object.TypeCommit, object.FormatCommit(c)), nil
}

func (d *Draft) checkCommit(ctx context.Context, c object.Commit) error {
	switch {
	case !utf8.ValidString(c.Message) || strings.ContainsRune(c.Message, 0):
		return fmt.Errorf("%w: the message is not UTF-8, or has a NUL", ErrInvalid)
	case len(c.Message) > d.r.opt.Limits.Message:
		return fmt.Errorf("%w: a message of %d bytes; the limit is %d", ErrTooLarge, len(c.Message), d.r.opt.Limits.Message)
	case strings.TrimSpace(c.Message) == "":
		return fmt.Errorf("%w: the message is empty", ErrInvalid)
	case c.Extra != "":
		return fmt.Errorf("%w: further headers are not written", ErrInvalid)
	}
	for _, s := range []object.Signature{c.Author, c.Committer} {
		if s.Name == "" || s.When.Unix() < 0 || strings.ContainsAny(s.Name+s.Email, "<>\n\x00") {
			return fmt.Errorf("%w: signature of %q <%q>", ErrInvalid, s.Name, s.Email)
		}
	}
	if _, err := d.Tree(ctx, c.Tree); err != nil {
		return err
	}
	if c.Tree == emptyTree {
		d.put(object.TypeTree, nil)
	}
	for _, p := range c.Parents {
		if _, err := d.raw(ctx, p, object.TypeCommit); err != nil {
			return err
		}
	}
	return nil
}

// raw is an object's bytes, of the draft or the store.
func (d *Draft) raw(ctx context.Context, id object.ID, t object.Type) ([]byte, error) {
	o, ok := d.objects[id]
	if !ok {
		return d.r.get(ctx, id, t)
	}
	if o.typ != t {
		return nil, fmt.Errorf("object %v is a %v, want a %v: %w", id, o.typ, t, ErrType)
	}
	return o.data, nil
}

// Tree is the bytes of a tree.
func (d *Draft) Tree(ctx context.Context, id object.ID) ([]byte, error) {
	if id == emptyTree {
		return nil, ctx.Err()
	}
	return d.raw(ctx, id, object.TypeTree)
}

// Blob is the bytes of a file.
func (d *Draft) Blob(ctx context.Context, id object.ID) ([]byte, error) {
	return d.raw(ctx, id, object.TypeBlob)
}

// Commit is a commit.
func (d *Draft) Commit(ctx context.Context, id object.ID) (object.Commit, error) {
	data, err := d.raw(ctx, id, object.TypeCommit)
	if err != nil {
		return object.Commit{}, err
	}
	c, err := object.ParseCommit(data)
	if err != nil {
		return c, fmt.Errorf("commit %v: %w", id, err)
	}
	return c, nil
}

// TreeAt is the tree of a commit.
func (d *Draft) TreeAt(ctx context.Context, commit object.ID) (object.ID, error) {
	data, err := d.raw(ctx, commit, object.TypeCommit)
	if err != nil {
		return object.Zero, err
	}
	tree, _, err := object.Links(data)
	if err != nil {
		return object.Zero, fmt.Errorf("commit %v: %w", commit, err)
	}
	return tree, nil
}

// stat is an object's type and size.
func (d *Draft) stat(ctx context.Context, id object.ID) (object.Type, uint64, error) {
	if o, ok := d.objects[id]; ok {
		return o.typ, uint64(len(o.data)), nil
	}
	return d.r.Stat(ctx, id)
}
