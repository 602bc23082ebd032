// Package exchange brings a person's repository into one of package vcs, and results
// back. It owns what may be touched there: Import reads only; Export adds objects
// and one new branch, and touches neither checkout, index nor any ref that is there.
// cmd calls it, when a person has asked for it.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"dure/runtime/vcs"
	"dure/runtime/vcs/git"
	"dure/runtime/vcs/object"
)

// What a caller branches on.
var (
	// ErrSource: what should be imported cannot be.
	ErrSource = errors.New("cannot be imported")
	// ErrTaken: the branch that should be made is there already.
	ErrTaken = errors.New("the branch exists already")
)

// A Source is what to import.
type Source struct {
	Path   string // a checkout, a folder in one, or a bare repository
	Branch string // short name; default: the one that HEAD names
}

// Imported says what was taken.
type Imported struct {
	Branch string    // full name, which is main in the new repository
	Commit object.ID // where it stands
	// Uncommitted are the paths whose changes were not taken, for they are not
	// committed. At most maxUncommitted are listed.
	Uncommitted []string
}

const maxUncommitted = 100

// Import makes a repository in dir with a branch and all its history as main. Git
// packs the objects anew, so that nothing depends on the source afterwards.
func Import(ctx context.Context, program git.Program, from Source, dir string, opt vcs.Options) (r *vcs.Repository, done Imported, err error) {
	done, err = look(ctx, program, from)
	if err != nil {
		return nil, done, fmt.Errorf("import %s: %w", from.Path, err)
	}
	if r, err = vcs.Init(ctx, dir, done.Branch, opt); err != nil {
		return nil, done, err
	}
	if err = bring(ctx, program, from.Path, r, done); err != nil {
		// A half-made repository is of no use, and would be in the way of the next try.
		return nil, done, fmt.Errorf("import %s: %w", from.Path, errors.Join(err, r.Close(), os.RemoveAll(dir)))
	}
	return r, done, nil
}

// look finds out what there is to import.
func look(ctx context.Context, program git.Program, from Source) (done Imported, err error) {
	ask := func(args ...string) (string, error) {
		return program.Output(ctx, from.Path, nil, append([]string{"--no-optional-locks"}, args...)...)
	}
	facts, err := ask("rev-parse", "--show-object-format", "--is-shallow-repository", "--is-bare-repository")
	if err != nil {
		return done, err
	}
	switch f := strings.Split(facts, "\n"); {
	case len(f) != 3:
		return done, fmt.Errorf("%w: git says %q", ErrSource, facts)
	case f[0] != "sha1":
		return done, fmt.Errorf("%w: its objects are named by %s; only SHA-1 is known", ErrSource, f[0])
	case f[1] != "false":
		return done, fmt.Errorf("%w: its history is cut off; run `git fetch --unshallow` in it", ErrSource)
	case f[2] == "false":
		status, err := ask("status", "--porcelain", "-z", "--no-renames")
		if err != nil {
			return done, err
		}
		done.Uncommitted = uncommitted(status)
	}
	done.Branch = "refs/heads/" + from.Branch
	if from.Branch == "" {
		if done.Branch, err = ask("symbolic-ref", "HEAD"); err != nil {
			return done, fmt.Errorf("%w: HEAD names no branch; say which: %w", ErrSource, err)
		}
	}
	text, err := ask("rev-parse", "--verify", "--end-of-options", done.Branch+"^{commit}")
	if err != nil {
		return done, fmt.Errorf("%w: branch %s has no commit: %w", ErrSource, done.Branch, err)
	}
	done.Commit, err = object.ParseID(text)
	return done, err
}

func uncommitted(status string) (paths []string) {
	for line := range strings.SplitSeq(status, "\x00") {
		if len(line) > 3 && len(paths) < maxUncommitted {
			paths = append(paths, line[3:])
		}
	}
	return paths
}

// bring copies the history of a commit, and makes main.
func bring(ctx context.Context, program git.Program, path string, r *vcs.Repository, what Imported) (err error) {
	dir, err := r.Quarantine()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	base, err := copyPack(ctx, program, path, dir, r.Dir(), what.Commit)
	if err != nil {
		return err
	}
	incoming, err := r.Incoming(base)
	if err != nil {
		return err
	}
	err = incoming.Attach(ctx)
	if err = errors.Join(err, incoming.Close()); err != nil {
		return err
	}
	return r.Apply(ctx, vcs.Owner(), nil, vcs.Move{Ref: what.Branch, New: what.Commit})
}

// copyPack pipes a pack of a commit and all that it stands on from one git to
// another, and returns its path without .pack.
func copyPack(ctx context.Context, program git.Program, from, dir, repo string, tip object.ID) (string, error) {
	if err := os.Mkdir(filepath.Join(dir, "pack"), 0o700); err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	packArgs := []string{"pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q"}
	out := program.Command(ctx, from, nil, packArgs...)
	said := &git.Tail{}
	out.Stdin, out.Stderr = strings.NewReader(tip.String()+"\n"), said
	pipe, w := io.Pipe()
	out.Stdout = w
	packed := make(chan error, 1)
	if err := out.Start(); err != nil {
		return "", err
	}
	go func() {
		err := out.Wait()
		_ = w.CloseWithError(err) // never fails
		packed <- err
	}()
	indexArgs := []string{"index-pack", "--stdin", "--check-self-contained-and-connected"}
	in := program.Command(ctx, repo, []string{"GIT_OBJECT_DIRECTORY=" + dir}, indexArgs...)
	answer, err := git.Run(in, pipe, indexArgs)
	_ = pipe.Close() // never fails
	if e := <-packed; e != nil {
		return "", &git.Error{Args: packArgs, Stderr: said.String(), Err: e}
	}
	if err != nil {
		return "", err
	}
	_, sum, ok := strings.Cut(answer, "\t")
	if !ok {
		return "", fmt.Errorf("git index-pack says %q", answer)
	}
	return filepath.Join(dir, "pack", "pack-"+sum), nil
}

// Export makes a new branch in a person's repository that stands at a commit. A
// branch of that name must not be there.
func Export(ctx context.Context, program git.Program, r *vcs.Repository, commit object.ID, to, branch string) error {
	ref := "refs/heads/" + branch
	if err := vcs.CheckRef(ref); err != nil {
		return err
	}
	if err := r.Publish(ctx); err != nil {
		return err
	}
	if _, err := program.Output(ctx, to, nil, "show-ref", "--verify", "--quiet", ref); err == nil {
		return fmt.Errorf("export to %s: %w: %s; choose another name, or remove it", to, ErrTaken, branch)
	}
	// The objects first. Then the branch, which is made only if it still is not there.
	fetch := []string{"-c", "core.hooksPath=/dev/null", "-c", "protocol.version=2", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"--no-auto-maintenance", "--recurse-submodules=no", r.Dir(), commit.String()}
	if _, err := program.Output(ctx, to, nil, fetch...); err != nil {
		return fmt.Errorf("export to %s: %w", to, err)
	}
	make := []string{"update-ref", "-m", "dure: export", ref, commit.String(), object.Zero.String()}
	if _, err := program.Output(ctx, to, nil, make...); err != nil {
		return fmt.Errorf("export to %s: %w", to, err)
	}
	return nil
}
