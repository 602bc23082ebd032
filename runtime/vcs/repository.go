package vcs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"dure/runtime/vcs/object"
)

// A Repository is a bare git repository that this process owns.
type Repository struct {
	dir     string // the repository
	own     string // dir/dure
	packDir string // dir/objects/pack
	opt     Options
	main    string
	lock    *os.File

	refs    *refTable
	prepare turns
	cache   *cache
	tmp     atomic.Uint64 // names of files in the making

	view   atomic.Pointer[view]
	viewMu sync.Mutex // held while the view is changed

	counters counters

	// gate is held shared while a request is handed over, and alone to close.
	gate      sync.RWMutex
	closed    bool
	requests  chan *request
	publishes chan chan error
	merge     chan struct{} // pokes the merger
	writing   sync.WaitGroup
	merging   sync.WaitGroup
}

// Dir is the folder of the repository.
func (r *Repository) Dir() string { return r.dir }

// Main is the ref that HEAD names.
func (r *Repository) Main() string { return r.main }

// Ref is what a ref names. It is durable.
func (r *Repository) Ref(name string) (object.ID, bool) {
	id := r.refs.get(name)
	return id, !id.IsZero()
}

// Refs lists the refs whose names begin so, sorted.
func (r *Repository) Refs(prefix string) []Ref { return r.refs.list(prefix) }

// changeView replaces the view by a changed copy.
func (r *Repository) changeView(change func(*view)) {
	r.viewMu.Lock()
	defer r.viewMu.Unlock()
	old := r.view.Load()
	v := &view{segments: slices.Clone(old.segments), packs: slices.Clone(old.packs)}
	change(v)
	r.view.Store(v)
}

// Apply makes a draft's objects durable and carries out all moves, or none of
// them. The draft may be nil, and can be used on afterwards. It waits for the disk
// also when ctx ends meanwhile, so that its answer is always true.
func (r *Repository) Apply(ctx context.Context, who Actor, d *Draft, moves ...Move) error {
	if err := r.checkMoves(ctx, who, d, moves); err != nil {
		return err
	}
	q := &request{moves: slices.Clone(moves), done: make(chan error, 1)}
	if d != nil {
		q.objects, q.bytes = d.take()
	}
	if err := r.send(ctx, q); err != nil {
		return err
	}
	if err := <-q.done; err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if d != nil {
		d.applied()
	}
	return nil
}

// checkMoves refuses what can be refused without the writer.
func (r *Repository) checkMoves(ctx context.Context, who Actor, d *Draft, moves []Move) error {
	for _, m := range moves {
		if err := r.Allow(who, m); err != nil {
			return err
		}
		if m.New.IsZero() {
			continue
		}
		if err := r.checkTarget(ctx, d, m); err != nil {
			return fmt.Errorf("move %s: %w", m.Ref, err)
		}
	}
	return nil
}

// checkTarget refuses a ref that would name nothing: branches name commits.
func (r *Repository) checkTarget(ctx context.Context, d *Draft, m Move) error {
	var t object.Type
	if o, ok := d.find(m.New); ok {
		t = o.typ
	} else if cached, _, ok := r.cache.get(m.New); ok {
		t = cached
	} else {
		var err error
		if t, _, err = r.Stat(ctx, m.New); err != nil {
			return err
		}
	}
	if branch := len(m.Ref) > 11 && m.Ref[:11] == "refs/heads/"; branch && t != object.TypeCommit {
		return fmt.Errorf("object %v is a %v, want a commit: %w", m.New, t, ErrType)
	}
	return nil
}

func (r *Repository) send(ctx context.Context, q *request) error {
	r.gate.RLock()
	defer r.gate.RUnlock()
	if r.closed {
		return ErrClosed
	}
	select {
	case r.requests <- q:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("apply: %w", ctx.Err())
	}
}

// Publish returns when plain git finds everything that was acknowledged before: in
// packs, and in packed-refs.
func (r *Repository) Publish(ctx context.Context) error {
	answer := make(chan error, 1)
	if err := r.ask(ctx, answer); err != nil {
		return err
	}
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("publish: %w", ctx.Err())
	}
}

func (r *Repository) ask(ctx context.Context, answer chan error) error {
	r.gate.RLock()
	defer r.gate.RUnlock()
	if r.closed {
		return ErrClosed
	}
	select {
	case r.publishes <- answer:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("publish: %w", ctx.Err())
	}
}

// Close waits for what is on its way, seals everything, and lets go of the folder.
// It may be called again.
func (r *Repository) Close() error {
	r.gate.Lock()
	if r.closed {
		r.gate.Unlock()
		return nil
	}
	r.closed = true
	close(r.requests)
	r.gate.Unlock()
	r.writing.Wait()
	close(r.merge) // the writer was the last who poked it
	r.merging.Wait()
	return r.lock.Close() // which gives up the lock
}

func (r *Repository) path(parts ...string) string {
	return filepath.Join(append([]string{r.dir}, parts...)...)
}
