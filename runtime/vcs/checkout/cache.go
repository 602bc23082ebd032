package checkout

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// Options of a cache. Zero fields get the defaults.
type Options struct {
	// Keep is how many trees that nobody holds stay. Default 8.
	Keep int
	// Files and Bytes bound one tree: files, folders and links; bytes of all files.
	// Defaults 400,000 and 8 GiB.
	Files int
	Bytes int64
	// Log hears of what could not be removed. Default: nothing is logged.
	Log *slog.Logger
}

// ErrTooLarge: a tree beyond the limits of Options.
var ErrTooLarge = errors.New("too large to check out")

// A Cache makes trees in a folder and shares them.
type Cache struct {
	dir string
	opt Options

	mu    sync.Mutex
	trees map[object.ID]*entry
	idle  *list.List      // of *entry that nobody holds, the oldest first
	in    map[content]int // in how many trees a content is
}

// An entry is a tree that is there, or in the making.
type entry struct {
	id    object.ID
	ready chan struct{} // closed when it is made, or err says why not
	err   error
	held  int
	place *list.Element // in idle

	contents map[content]bool
}

// Open takes a folder and empties it.
func Open(dir string, opt Options) (*Cache, error) {
	if opt.Keep == 0 {
		opt.Keep = 8
	}
	if opt.Files == 0 {
		opt.Files = 400_000
	}
	if opt.Bytes == 0 {
		opt.Bytes = 8 << 30
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open checkouts: %w", err)
	}
	for _, name := range []string{"blobs", "trees"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("open checkouts: %w", err)
		}
		if err := os.MkdirAll(filepath.Join(dir, name), 0o711); err != nil {
			return nil, fmt.Errorf("open checkouts: %w", err)
		}
	}
	return &Cache{dir: dir, opt: opt, trees: map[object.ID]*entry{}, idle: list.New(), in: map[content]int{}}, nil
}

// A Tree is a folder that is there until Release.
type Tree struct {
	// Dir is its absolute path. Nothing in it may be changed.
	Dir string

	once    sync.Once
	release func()
}

// Release lets go of the tree. It may be called again.
func (t *Tree) Release() { t.once.Do(t.release) }

// Get is a tree as a folder, made if it is not there. Who asks for one that is in the
// making waits for it.
func (c *Cache) Get(ctx context.Context, r vcs.Reader, tree object.ID) (*Tree, error) {
	for {
		e, mine := c.hold(tree)
		if mine {
			e.err = c.make(ctx, r, e)
			close(e.ready)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			c.drop(e)
			return nil, ctx.Err()
		}
		if e.err == nil {
			return &Tree{Dir: c.path(tree), release: func() { c.drop(e) }}, nil
		}
		c.drop(e)
		// Another's end is no reason to give up.
		if mine || !errors.Is(e.err, context.Canceled) && !errors.Is(e.err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("check out %s: %w", tree.Short(), e.err)
		}
	}
}

func (c *Cache) path(tree object.ID) string { return filepath.Join(c.dir, "trees", tree.String()) }

// hold is the entry of a tree; mine says that the caller has to make it.
func (c *Cache) hold(tree object.ID) (e *entry, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.trees[tree]
	if !ok {
		e = &entry{id: tree, ready: make(chan struct{})}
		c.trees[tree] = e
	}
	e.held++
	if e.place != nil {
		c.idle.Remove(e.place)
		e.place = nil
	}
	return e, !ok
}

// make makes a tree. One that could not be made is forgotten at once, so that the next
// who asks tries again.
func (c *Cache) make(ctx context.Context, r vcs.Reader, e *entry) error {
	contents, err := c.write(ctx, r, e.id)
	c.mu.Lock()
	e.contents = contents
	for what := range contents {
		c.in[what]++
	}
	if err == nil {
		c.mu.Unlock()
		return nil
	}
	delete(c.trees, e.id)
	unused := c.forget(e)
	c.mu.Unlock()
	return errors.Join(err, c.removeContents(unused))
}

// forget takes the contents of a tree off the account, and returns those that are in
// no other.
func (c *Cache) forget(e *entry) (unused []content) {
	for what := range e.contents {
		if c.in[what]--; c.in[what] == 0 {
			delete(c.in, what)
			unused = append(unused, what)
		}
	}
	return unused
}

// drop lets go of an entry, and removes those that are too many.
func (c *Cache) drop(e *entry) {
	c.mu.Lock()
	var old *entry
	var unused []content
	var err error
	if e.held--; e.held == 0 && c.trees[e.id] == e {
		e.place = c.idle.PushBack(e)
		if c.idle.Len() > c.opt.Keep {
			old = c.idle.Remove(c.idle.Front()).(*entry)
			old.place = nil
			delete(c.trees, old.id)
			unused = c.forget(old)
			// Who asks for it again must not find it half gone.
			err = os.Rename(c.path(old.id), c.path(old.id)+goneSuffix)
		}
	}
	c.mu.Unlock()
	if old == nil {
		return
	}
	if err == nil {
		err = os.RemoveAll(c.path(old.id) + goneSuffix)
	}
	if err := errors.Join(err, c.removeContents(unused)); err != nil {
		c.opt.Log.Warn("a checkout that nobody needs stays", "tree", old.id.String(), "error", err)
	}
}

const goneSuffix = ".gone"

// removeContents removes contents. A tree that is being made of one meanwhile has its
// own link to it, so that only the next has to make it again.
func (c *Cache) removeContents(all []content) error {
	var errs []error
	for _, what := range all {
		if err := os.Remove(c.blob(what)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
