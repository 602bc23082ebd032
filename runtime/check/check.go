package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dure/runtime/sandbox"
	"dure/runtime/vcs"
	"dure/runtime/vcs/checkout"
	"dure/runtime/vcs/land"
	"dure/runtime/vcs/object"
)

// Options say what to run, and with what.
type Options struct {
	// Command is the check, in the root of the checkout: {"make", "test"}.
	Command []string
	// Timeout ends it. Default 10 minutes.
	Timeout time.Duration
	// Output is how many bytes of what it says are kept, the last ones. Default 16 KiB.
	Output int
	// Memory, if not 0, keeps what a check writes in memory, at most this many bytes;
	// it needs a sandbox with overlays. Otherwise it lies in Dir meanwhile.
	Memory int64
	// Dir is where boxes are made. It must exist, on the disk that Limits.Disk means.
	Dir string
	// Mounts, Env and Limits are those of the box, as in sandbox.Spec.
	Mounts []sandbox.Mount
	Env    []string
	Limits sandbox.Limits
}

// Store is what is read of a repository. *vcs.Repository is one.
type Store interface {
	vcs.Reader
	TreeAt(ctx context.Context, commit object.ID) (object.ID, error)
}

// A Checker runs checks. It is a land.Checker.
type Checker struct {
	store Store
	trees *checkout.Cache
	host  *sandbox.Host
	opt   Options
}

// New is a checker of a repository's commits.
func New(store Store, trees *checkout.Cache, host *sandbox.Host, opt Options) (*Checker, error) {
	if len(opt.Command) == 0 {
		return nil, errors.New("check: no command: say what has to pass, as in make test")
	}
	if !filepath.IsAbs(opt.Dir) {
		return nil, fmt.Errorf("check: folder %q is no absolute path", opt.Dir)
	}
	if opt.Timeout < 0 || opt.Output < 0 || opt.Memory < 0 {
		return nil, errors.New("check: a limit below 0")
	}
	if opt.Timeout == 0 {
		opt.Timeout = 10 * time.Minute
	}
	if opt.Output == 0 {
		opt.Output = 16 << 10
	}
	opt.Command, opt.Env, opt.Mounts = slices.Clone(opt.Command), slices.Clone(opt.Env), slices.Clone(opt.Mounts)
	return &Checker{store: store, trees: trees, host: host, opt: opt}, nil
}

// Check implements land.Checker.
func (c *Checker) Check(ctx context.Context, commit object.ID) (land.Check, error) {
	result, err := c.check(ctx, commit)
	if err != nil {
		return land.Check{}, fmt.Errorf("check %s: %w", commit.Short(), err)
	}
	return result, nil
}

func (c *Checker) check(ctx context.Context, commit object.ID) (result land.Check, err error) {
	root, err := c.store.TreeAt(ctx, commit)
	if err != nil {
		return result, err
	}
	tree, err := c.trees.Get(ctx, c.store, root)
	if err != nil {
		return result, err
	}
	defer tree.Release()
	dir, err := os.MkdirTemp(c.opt.Dir, "check-")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o711); err != nil { // the commands are another user
		return result, err
	}
	box, err := c.host.Start(ctx, sandbox.Spec{
		Name: filepath.Base(dir), Dir: filepath.Join(dir, "box"), Lower: tree.Dir, Volatile: c.opt.Memory,
		Mounts: c.opt.Mounts, Env: c.opt.Env, Limits: c.opt.Limits,
	})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	return c.run(ctx, box)
}

func (c *Checker) run(ctx context.Context, box *sandbox.Box) (land.Check, error) {
	said := &tail{most: c.opt.Output}
	// The machine's shell starts it: a commit that lacks the program, or has one that
	// does not start, fails its check, and does not keep it from having a result.
	args := append([]string{"/bin/sh", "-c", `exec "$@"`, "check"}, c.opt.Command...)
	r, err := box.Run(ctx, sandbox.Cmd{Args: args, Stdout: said, Stderr: said, OutputCap: -1, Timeout: c.opt.Timeout})
	if err == nil && r.Ended == sandbox.EndedCancelled {
		err = ctx.Err()
	}
	if err != nil {
		return land.Check{}, err
	}
	passed := r.Ended == sandbox.EndedItself && r.Code == 0
	if !passed {
		said.end(c.verdict(r))
	}
	return land.Check{Passed: passed, Output: said.String()}, nil
}

// verdict says how a check that did not pass has ended.
func (c *Checker) verdict(r sandbox.Result) string {
	switch r.Ended {
	case sandbox.EndedItself:
		return fmt.Sprintf("the check ended with exit code %d", r.Code)
	case sandbox.EndedBySignal:
		return fmt.Sprintf("the check was ended by a signal: %v", r.Signal)
	case sandbox.EndedTimeout:
		return fmt.Sprintf("the check was ended: it may take %v", c.opt.Timeout)
	case sandbox.EndedMemory:
		return "the check was ended: it used more memory than it may"
	case sandbox.EndedDisk:
		return "the check was ended: it wrote more than it may, or the disk is nearly full"
	default:
		return fmt.Sprintf("the check was ended: %s", r.Ended)
	}
}
