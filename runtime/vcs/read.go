package vcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"dure/runtime/vcs/object"
	"dure/runtime/vcs/pack"
)

// A Reader is where trees, files and commits come from. *Repository and *Draft are
// Readers. What they return is shared: it must not be changed.
type Reader interface {
	// Tree is the bytes of a tree, for object.ParseTree and object.NextEntry.
	Tree(ctx context.Context, id object.ID) ([]byte, error)
	Blob(ctx context.Context, id object.ID) ([]byte, error)
	Commit(ctx context.Context, id object.ID) (object.Commit, error)
}

// A view is all that is readable at one moment. It never changes, but that the
// newest segment gains objects.
type view struct {
	segments []*segment  // newest first
	packs    []*packFile // newest first
}

// source is where an object's entry is.
type source struct {
	r      io.ReaderAt
	offset int64
	pack   *packFile // nil: a log
}

func (v *view) find(id object.ID) (source, bool) {
	for _, s := range v.segments {
		if at, ok := s.find(id); ok {
			return source{s.file, at.offset, nil}, true
		}
	}
	for _, p := range v.packs {
		if offset, ok := p.find(id); ok {
			return source{p.file, offset, p}, true
		}
	}
	return source{}, false
}

// Bounds of reading: an object, and how many deltas stand on one another (git makes
// 50, and allows 4,095).
const (
	maxObject = 1 << 31
	maxChain  = 4096
)

// read is an object's type and bytes, with the deltas applied.
func (v *view) read(id object.ID) (object.Type, []byte, error) {
	at, ok := v.find(id)
	if !ok {
		return 0, nil, fmt.Errorf("object %v: %w", id, ErrNotFound)
	}
	t, data, err := v.readAt(at)
	if err != nil {
		if errors.Is(err, pack.ErrFormat) || errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return 0, nil, fmt.Errorf("object %v: %w", id, err)
	}
	return t, data, nil
}

func (v *view) readAt(at source) (object.Type, []byte, error) {
	base, deltas, err := v.chain(at)
	if err != nil {
		return 0, nil, err
	}
	h, err := pack.ReadHeader(base.r, base.offset)
	if err != nil {
		return 0, nil, err
	}
	data, err := pack.ReadBody(base.r, base.offset, h, maxObject)
	for i := len(deltas) - 1; i >= 0 && err == nil; i-- {
		data, err = pack.ApplyDelta(data, deltas[i], maxObject)
	}
	return h.Type, data, err
}

// chain follows deltas to what they stand on. The last one stands on base.
func (v *view) chain(at source) (base source, deltas [][]byte, err error) {
	for range maxChain {
		h, err := pack.ReadHeader(at.r, at.offset)
		if err != nil {
			return source{}, nil, err
		}
		if !h.IsDelta() {
			return at, deltas, nil
		}
		delta, err := pack.ReadBody(at.r, at.offset, h, maxObject)
		if err != nil {
			return source{}, nil, err
		}
		deltas = append(deltas, delta)
		if at, err = v.baseOf(at, h); err != nil {
			return source{}, nil, err
		}
	}
	return source{}, nil, fmt.Errorf("%w: more than %d deltas stand on one another", pack.ErrFormat, maxChain)
}

func (v *view) baseOf(at source, h pack.Header) (source, error) {
	if h.BaseID.IsZero() {
		if h.BaseDistance <= 0 || h.BaseDistance > at.offset-pack.HeadLen {
			return source{}, fmt.Errorf("%w: a delta's base lies outside of the pack", pack.ErrFormat)
		}
		at.offset -= h.BaseDistance
		return at, nil
	}
	if at.pack != nil {
		if offset, ok := at.pack.find(h.BaseID); ok {
			return source{at.r, offset, at.pack}, nil
		}
	}
	base, ok := v.find(h.BaseID)
	if !ok {
		return source{}, fmt.Errorf("the base of a delta, %v: %w", h.BaseID, ErrNotFound)
	}
	return base, nil
}

// stat is an object's type and size. Only the instructions of a delta are inflated.
func (v *view) stat(id object.ID) (object.Type, uint64, error) {
	at, ok := v.find(id)
	if !ok {
		return 0, 0, fmt.Errorf("object %v: %w", id, ErrNotFound)
	}
	base, deltas, err := v.chain(at)
	if err != nil {
		return 0, 0, fmt.Errorf("object %v: %w", id, err)
	}
	h, err := pack.ReadHeader(base.r, base.offset)
	if err == nil && len(deltas) > 0 {
		h.Size, err = pack.DeltaSize(deltas[0])
	}
	if err != nil {
		return 0, 0, fmt.Errorf("object %v: %w", id, err)
	}
	return h.Type, h.Size, nil
}

// get is an object of a type, from the cache if it is there.
func (r *Repository) get(ctx context.Context, id object.ID, t object.Type) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	got, data, ok := r.cache.get(id)
	if !ok {
		var err error
		if got, data, err = r.view.Load().read(id); err != nil {
			return nil, err
		}
		if got != object.TypeBlob {
			r.cache.put(id, got, data)
		}
	}
	if got != t {
		return nil, fmt.Errorf("object %v is a %v, want a %v: %w", id, got, t, ErrType)
	}
	return data, nil
}

// emptyTree is the one tree that every repository knows.
var emptyTree = object.Hash(object.TypeTree, nil)

// Tree is the bytes of a tree.
func (r *Repository) Tree(ctx context.Context, id object.ID) ([]byte, error) {
	if id == emptyTree {
		return nil, ctx.Err()
	}
	return r.get(ctx, id, object.TypeTree)
}

// Blob is the bytes of a file.
func (r *Repository) Blob(ctx context.Context, id object.ID) ([]byte, error) {
	return r.get(ctx, id, object.TypeBlob)
}

// Commit is a commit, read strictly: an imported one that git itself would complain
// of is an error here, while TreeAt reads any.
func (r *Repository) Commit(ctx context.Context, id object.ID) (object.Commit, error) {
	data, err := r.get(ctx, id, object.TypeCommit)
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
func (r *Repository) TreeAt(ctx context.Context, commit object.ID) (object.ID, error) {
	data, err := r.get(ctx, commit, object.TypeCommit)
	if err != nil {
		return object.Zero, err
	}
	tree, _, err := object.Links(data)
	if err != nil {
		return object.Zero, fmt.Errorf("commit %v: %w", commit, err)
	}
	return tree, nil
}

// Stat is an object's type and size in bytes.
func (r *Repository) Stat(ctx context.Context, id object.ID) (object.Type, uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	return r.view.Load().stat(id)
}

// Has reports whether an object is there.
func (r *Repository) Has(id object.ID) bool {
	_, ok := r.view.Load().find(id)
	return ok
}

// Find is what a path names in a tree. The empty path is the tree itself.
func Find(ctx context.Context, r Reader, root object.ID, path string) (object.Entry, error) {
	at := object.Entry{Mode: object.ModeTree, ID: root}
	if path == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if at.Mode != object.ModeTree {
			return object.Entry{}, fmt.Errorf("path %q: %w: %q is no folder", path, ErrNoPath, at.Name)
		}
		tree, err := r.Tree(ctx, at.ID)
		if err != nil {
			return object.Entry{}, fmt.Errorf("path %q: %w", path, err)
		}
		e, found, err := object.FindEntry(tree, name)
		if err != nil {
			return object.Entry{}, fmt.Errorf("path %q: %w", path, err)
		}
		if !found {
			return object.Entry{}, fmt.Errorf("path %q: %w", path, ErrNoPath)
		}
		at = e
	}
	return at, nil
}
