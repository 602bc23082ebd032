package vcs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"dure/runtime/vcs/disk"
	"dure/runtime/vcs/object"
)

// gitConfig makes plain git leave the folder as it is: nothing is collected or
// removed by it, for objects that no published ref names yet may be in use.
const gitConfig = `[core]
	repositoryformatversion = 1
	filemode = true
	bare = true
[extensions]
	preciousObjects = true
[gc]
	auto = 0
[maintenance]
	auto = false
`

// refHook refuses refs that plain git would move behind the owner's back.
const refHook = `#!/bin/sh
# The refs of this repository are moved by dure alone.
[ "$1" = prepared ] || exit 0
echo "this repository belongs to dure: push to the address that it serves, not to the folder" >&2
exit 1
`

// Init makes a repository in a folder that is empty or not there yet, with HEAD at
// main, which does not exist before somebody makes it. It opens what it made.
func Init(ctx context.Context, dir, main string, opt Options) (*Repository, error) {
	if err := CheckRef(main); err != nil {
		return nil, err
	}
	opt.fill()
	d := opt.Disk
	if entries, err := d.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("init %s: %w: the folder is not empty", dir, ErrForeign)
	}
	for _, sub := range []string{"objects/pack", "objects/info", "refs/heads", "refs/tags", "hooks", "dure"} {
		if err := d.MkdirAll(filepath.Join(dir, sub)); err != nil {
			return nil, fmt.Errorf("init %s: %w", dir, err)
		}
	}
	files := []struct{ name, content string }{
		{"config", gitConfig}, {"hooks/reference-transaction", refHook},
		{"dure/lock", ""}, {"HEAD", "ref: " + main + "\n"}, // HEAD last: with it, it is a repository
	}
	for _, f := range files {
		if err := disk.WriteFile(d, filepath.Join(dir, f.name), []byte(f.content)); err != nil {
			return nil, fmt.Errorf("init %s: %w", dir, err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "hooks/reference-transaction"), 0o700); err != nil {
		return nil, fmt.Errorf("init %s: %w", dir, err)
	}
	for _, sub := range []string{"objects", "refs", "hooks", "dure", "."} {
		if err := d.SyncDir(filepath.Join(dir, sub)); err != nil {
			return nil, fmt.Errorf("init %s: %w", dir, err)
		}
	}
	return Open(ctx, dir, opt)
}

// Open takes over a repository that Init has made, reads what a crash has left
// unsealed, and seals it.
func Open(ctx context.Context, dir string, opt Options) (*Repository, error) {
	opt.fill()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	r := &Repository{
		dir: dir, own: filepath.Join(dir, "dure"), packDir: filepath.Join(dir, "objects", "pack"), opt: opt,
		refs: newRefTable(), prepare: newTurns(runtime.GOMAXPROCS(0)), cache: newCache(opt.Cache),
		requests: make(chan *request, 2*maxBatch), publishes: make(chan chan error), merge: make(chan struct{}, 1),
	}
	if err := r.takeLock(); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	w, err := r.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, errors.Join(err, r.lock.Close()))
	}
	poke(r.merge)
	r.writing.Go(w.run)
	r.merging.Go(r.mergePacks)
	return r, nil
}

// takeLock makes this process the owner. The lock goes with the process.
func (r *Repository) takeLock() error {
	f, err := os.OpenFile(filepath.Join(r.own, "lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no folder dure in it; import a repository of another kind", ErrForeign)
	}
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return errors.Join(err, f.Close())
	}
	r.lock = f
	return nil
}

// load reads everything and returns a writer that goes on from there.
func (r *Repository) load(ctx context.Context) (*writer, error) {
	if err := r.checkFormat(); err != nil {
		return nil, err
	}
	if err := r.tidy(); err != nil {
		return nil, err
	}
	packs, err := openPacks(r.opt.Disk, r.packDir)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(packs, func(a, b *packFile) int { return int(min(1, max(-1, a.size-b.size))) })
	r.view.Store(&view{packs: packs})
	loose, err := r.readRefs()
	if err != nil {
		return nil, err
	}
	number, batch, err := r.replay(ctx)
	if err != nil {
		return nil, err
	}
	if len(loose) > 0 {
		if err := r.adopt(loose); err != nil {
			return nil, err
		}
	}
	s, err := newSegment(r.opt.Disk, r.own, number+1)
	if err != nil {
		return nil, err
	}
	r.changeView(func(v *view) { v.segments = []*segment{s} })
	return &writer{r: r, current: s, batch: batch, sealed: make(chan error)}, nil
}

// checkFormat refuses repositories of kinds that this package does not know.
func (r *Repository) checkFormat() error {
	config, err := r.opt.Disk.ReadFile(r.path("config"))
	if err != nil {
		return err
	}
	text := strings.ToLower(string(config))
	switch {
	case strings.Contains(text, "objectformat") && strings.Contains(text, "sha256"):
		return fmt.Errorf("%w: its objects are named by SHA-256; only SHA-1 is known", ErrForeign)
	case strings.Contains(text, "refstorage"):
		return fmt.Errorf("%w: its refs are kept as a table; only files are known", ErrForeign)
	}
	head, err := r.opt.Disk.ReadFile(r.path("HEAD"))
	if err != nil {
		return err
	}
	main, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
	if !ok {
		return fmt.Errorf("%w: HEAD names no branch", ErrForeign)
	}
	r.main = main
	return CheckRef(main)
}

// tidy removes what was in the making when a process ended.
func (r *Repository) tidy() error {
	entries, err := r.opt.Disk.ReadDir(r.own)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "quarantine-") {
			// A git that a killed process has left behind may still write there.
			if err := os.RemoveAll(filepath.Join(r.own, e.Name())); err != nil {
				r.opt.Log.Warn("what a killed process had in the making stays", "error", err)
			}
		}
		if strings.HasPrefix(e.Name(), "tmp-") {
			if err := r.opt.Disk.Remove(filepath.Join(r.own, e.Name())); err != nil {
				return err
			}
		}
	}
	err = r.opt.Disk.Remove(r.path("packed-refs.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// replay reads the logs that were not sealed, in order, and seals them. It returns
// the numbers of the last log and the last batch.
func (r *Repository) replay(ctx context.Context) (number, batch uint64, err error) {
	entries, err := r.opt.Disk.ReadDir(r.own)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries { // by name, and so by number
		var n uint64
		if _, err := fmt.Sscanf(e.Name(), "log-%d", &n); err != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if number != 0 && n != number+1 {
			return 0, 0, fmt.Errorf("log %d: %w: the log before it is missing", n, ErrDamaged)
		}
		number = n
		last, err := r.replayLog(n, batch)
		if err != nil {
			return 0, 0, err
		}
		batch = max(batch, last)
	}
	return number, batch, nil
}

func (r *Repository) replayLog(number, before uint64) (last uint64, err error) {
	path := logPath(r.own, number)
	data, err := r.opt.Disk.ReadFile(path)
	if err != nil {
		return 0, err
	}
	batches, err := readLog(data, number)
	if err != nil {
		return 0, err
	}
	s := &segment{number: number, path: path, objects: map[object.ID]span{}}
	if s.file, err = r.opt.Disk.Open(path); err != nil {
		return 0, err
	}
	have := r.view.Load()
	for i, b := range batches {
		if i == 0 && before != 0 && b.number != before+1 {
			return 0, fmt.Errorf("log %d: %w: it begins with batch %d behind batch %d", number, ErrDamaged, b.number, before)
		}
		for _, o := range b.objects {
			// A seal that was cut off may have made its pack already.
			if _, ok := have.find(o.id); !ok {
				s.objects[o.id] = span{offset: o.offset, n: o.n}
			}
		}
		r.refs.set(b.moves)
		s.moved = s.moved || len(b.moves) > 0
		last = b.number
	}
	job := &sealJob{segment: s}
	if s.moved {
		job.refs = r.refs.list("")
	}
	if len(batches) > 0 {
		r.opt.Log.Info("commits of a process that was cut off are sealed", "log", number, "batches", len(batches))
	}
	return last, errors.Join(r.seal(job), s.file.Close())
}

// adopt takes over refs that another program has put into files of their own.
func (r *Repository) adopt(loose []string) error {
	r.opt.Log.Warn("refs that another program has moved are taken over", "refs", len(loose))
	if err := r.writePackedRefs(r.refs.list("")); err != nil {
		return err
	}
	for _, name := range loose {
		if err := r.opt.Disk.Remove(r.path(name)); err != nil {
			return err
		}
	}
	return nil
}
