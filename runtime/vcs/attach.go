package vcs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dure/runtime/vcs/object"
)

// An Incoming is a pack that lies beside the repository and is looked at before it
// becomes a part of it.
type Incoming struct {
	r *Repository
	p *packFile
	v *view // the repository's, with the pack in front
}

// Incoming opens a pack with its index, named without .pack, on the same file
// system as the repository. What its deltas stand on must be in it.
func (r *Repository) Incoming(base string) (*Incoming, error) {
	p, err := openPack(r.opt.Disk, base)
	if err != nil {
		return nil, err
	}
	now := r.view.Load()
	return &Incoming{r, p, &view{segments: now.segments, packs: append([]*packFile{p}, now.packs...)}}, nil
}

// Objects lists what is in the pack.
func (in *Incoming) Objects() ([]object.ID, error) {
	places, err := in.p.index.Places()
	if err != nil {
		return nil, err
	}
	ids := make([]object.ID, len(places))
	for i, p := range places {
		ids[i] = p.ID
	}
	return ids, nil
}

// Known reports whether the repository has an object without the pack.
func (in *Incoming) Known(id object.ID) bool { return in.r.Has(id) }

// Stat is an object's type and size, of the pack or the repository.
func (in *Incoming) Stat(id object.ID) (object.Type, uint64, error) { return in.v.stat(id) }

// Read is an object of the pack or the repository.
func (in *Incoming) Read(id object.ID) (object.Type, []byte, error) { return in.v.read(id) }

// Attach makes the pack a part of the repository, durably. Whoever calls it has
// checked all that is in the pack, and that what it refers to is there: the
// repository takes that for granted from then on.
func (in *Incoming) Attach(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if in.p.index.Len() == 0 {
		return nil
	}
	p, err := in.r.moveIn(in.p.base)
	if err != nil {
		return fmt.Errorf("attach a pack: %w", err)
	}
	in.r.changeView(func(v *view) { v.packs = append([]*packFile{p}, v.packs...) })
	return nil
}

// moveIn moves a pack and its index, which another process has written, to where git
// looks for them, durably, and opens it.
func (r *Repository) moveIn(base string) (*packFile, error) {
	d := r.opt.Disk
	to := filepath.Join(r.packDir, filepath.Base(base))
	for _, end := range []string{".pack", ".idx"} { // git looks for indexes
		if err := flush(base + end); err != nil {
			return nil, err
		}
		if err := d.Rename(base+end, to+end); err != nil {
			return nil, err
		}
	}
	if err := d.SyncDir(r.packDir); err != nil {
		return nil, err
	}
	return openPack(d, to)
}

// flush puts on the disk what another process has written.
func flush(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

// Close lets go of a pack that was not attached, or was.
func (in *Incoming) Close() error { return in.p.file.Close() }

// Allow says whether an actor may make a move, and puts a refusal on the record.
// Apply asks by itself; this is for who would do much work before.
func (r *Repository) Allow(who Actor, m Move) error {
	if err := CheckRef(m.Ref); err != nil {
		return err
	}
	if why := refusal(who, r.main, m); why != "" {
		r.opt.Audit(Refusal{Actor: who, Ref: m.Ref, Old: m.Old, New: m.New, Why: why})
		return &RefusedError{Actor: who, Ref: m.Ref, Why: why}
	}
	return nil
}

// Admit asks Options.Gate whether an agent may change these paths.
func (r *Repository) Admit(ctx context.Context, agent Actor, paths []string) error {
	return r.opt.Gate(ctx, agent.name, paths)
}

// Limits are those of the repository.
func (r *Repository) Limits() Limits { return r.opt.Limits }

// Quarantine is a new folder on the repository's file system, for files that are not
// a part of it yet. Who asks removes it; Open removes what a crash has left.
func (r *Repository) Quarantine() (string, error) {
	return os.MkdirTemp(r.own, "quarantine-")
}
