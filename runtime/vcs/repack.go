package vcs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dure/runtime/vcs/git"
)

// repack has git make one pack of several, beside the repository, and takes it in when
// git has read every object in it again and nothing is missing. Deltas are kept: taken
// apart, a few bytes of them could fill the disk. The old packs are as they were.
func (r *Repository) repack(ctx context.Context, set []*packFile) (merged *packFile, err error) {
	dir, err := r.Quarantine()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Mkdir(filepath.Join(dir, "pack"), 0o700); err != nil {
		return nil, err
	}
	var names strings.Builder
	for _, p := range set {
		names.WriteString(filepath.Base(p.base) + ".pack\n")
	}
	env := []string{"GIT_OBJECT_DIRECTORY=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(r.dir, "objects")}
	run := func(in string, args ...string) (string, error) {
		return git.RunLast(r.opt.Git.Command(ctx, r.dir, env, args...), strings.NewReader(in), args)
	}
	sum, err := run(names.String(), "pack-objects", "--stdin-packs", "--delta-base-offset", "--threads=1", "--window-memory=64m", "-q", filepath.Join(dir, "pack", "pack"))
	if err != nil {
		return nil, err
	}
	base := filepath.Join(dir, "pack", "pack-"+sum)
	if _, err := run("", "index-pack", "--verify", "--threads=1", base+".pack"); err != nil {
		return nil, err
	}
	if err := r.complete(base, set); err != nil {
		return nil, err
	}
	return r.moveIn(base)
}

// complete compares what is in a pack with what it was made of.
func (r *Repository) complete(base string, set []*packFile) error {
	made, err := openPack(r.opt.Disk, base)
	if err != nil {
		return err
	}
	for _, p := range set {
		places, err := p.index.Places()
		if err != nil {
			return errors.Join(err, made.file.Close())
		}
		for _, at := range places {
			if _, ok := made.find(at.ID); !ok {
				return errors.Join(fmt.Errorf("object %v: %w: git left it out of a pack", at.ID, ErrNotFound), made.file.Close())
			}
		}
	}
	return made.file.Close()
}
