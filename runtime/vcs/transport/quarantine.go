package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"dure/runtime/vcs"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/object"
)

// A packError is a pack that is not taken.
type packError struct{ why error }

func (e *packError) Error() string { return "the pack is refused: " + e.why.Error() }
func (e *packError) Unwrap() error { return e.why }

// quarantine is a pack beside the repository.
type quarantine struct {
	s   *Server
	dir string // an object directory of its own
	env []string
}

// take checks a pushed pack for a move, and makes it a part of the repository.
func (s *Server) take(ctx context.Context, who vcs.Actor, m vcs.Move, in io.Reader) (err error) {
	leave, err := s.turn(ctx)
	if err != nil {
		return err
	}
	defer leave()
	// What the pack stands on, and what it refers to, git looks up in the folder.
	if err := s.repo.Publish(ctx); err != nil {
		return err
	}
	dir, err := s.repo.Quarantine()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	q := &quarantine{s, dir, []string{
		"GIT_OBJECT_DIRECTORY=" + dir, "GIT_QUARANTINE_PATH=" + dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(s.repo.Dir(), "objects"),
	}}
	base, err := q.index(ctx, in)
	if err != nil {
		return err
	}
	incoming, err := s.repo.Incoming(base)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, incoming.Close()) }()
	if err := inspect(incoming, s.repo.Signature(who), s.repo.Limits()); err != nil {
		return &packError{err}
	}
	if err := q.connected(ctx, m.New); err != nil {
		return &packError{err}
	}
	paths, err := q.paths(ctx, m.New)
	if err != nil {
		return err
	}
	if err := s.repo.Admit(ctx, who, paths); err != nil {
		return err
	}
	return incoming.Attach(ctx)
}

// index has git check the pack and write it with its index; it returns its path
// without .pack.
func (q *quarantine) index(ctx context.Context, in io.Reader) (base string, err error) {
	if err := os.Mkdir(filepath.Join(q.dir, "pack"), 0o700); err != nil {
		return "", err
	}
	args := []string{"index-pack", "--stdin", "--fix-thin", "--strict", "--threads=1", "--max-input-size=" + strconv.FormatInt(q.s.opt.MaxPush, 10)}
	cmd := q.s.git.Command(ctx, q.s.repo.Dir(), q.env, args...)
	var out bytes.Buffer
	said := &git.Tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, said
	if err := cmd.Start(); err != nil {
		return "", err
	}
	// A few bytes of deltas can ask for any amount of memory.
	limit := unix.Rlimit{Cur: q.s.opt.MaxMemory, Max: q.s.opt.MaxMemory}
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &limit, nil); err != nil && !errors.Is(err, unix.ESRCH) {
		return "", errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", &packError{&git.Error{Args: args, Stderr: said.String(), Err: err}}
	}
	_, sum, ok := strings.Cut(strings.TrimSpace(out.String()), "\t")
	if !ok {
		return "", fmt.Errorf("git index-pack says %q", out.String())
	}
	return filepath.Join(q.dir, "pack", "pack-"+sum), nil
}

func (q *quarantine) run(ctx context.Context, args ...string) (string, error) {
	return git.Run(q.s.git.Command(ctx, q.s.repo.Dir(), q.env, args...), nil, args)
}

// connected has git walk from the new commit to what the repository has.
func (q *quarantine) connected(ctx context.Context, tip object.ID) error {
	_, err := q.run(ctx, "rev-list", "--objects", "--quiet", tip.String(), "--not", "--all")
	return err
}

// paths are what the new commits change. Of a merge, what it has from neither side.
func (q *quarantine) paths(ctx context.Context, tip object.ID) ([]string, error) {
	out, err := q.run(ctx, "log", "--format=", "--name-only", "--no-renames", "-z", "-c", tip.String(), "--not", "--all")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var paths []string
	for p := range strings.SplitSeq(out, "\x00") {
		if p = strings.TrimPrefix(p, "\n"); p != "" && !seen[p] {
			seen[p] = true
			paths = append(paths, p)
		}
	}
	return paths, nil
}
