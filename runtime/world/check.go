package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dure/runtime/check"
	"dure/runtime/swarm"
	"dure/runtime/vcs/object"
)

// errNoMain: the run's repository was taken away.
var errNoMain = errors.New("the repository has no main")

func (w *World) main() (object.ID, error) {
	id, ok := w.Repo.Ref(w.Repo.Main())
	if !ok {
		return id, errNoMain
	}
	return id, nil
}

// Check implements swarm.World.
func (w *World) Check(ctx context.Context, c swarm.Checking) (swarm.CheckResult, error) {
	if c.Commit == "" {
		return w.Verify(ctx, c)
	}
	commit, err := object.ParseID(c.Commit)
	if err != nil {
		return swarm.CheckResult{}, fmt.Errorf("check %s: %w", c.Task, err)
	}
	return w.check(ctx, c, commit)
}

// Verify implements swarm.World.
func (w *World) Verify(ctx context.Context, c swarm.Checking) (swarm.CheckResult, error) {
	commit, err := w.main()
	if err != nil {
		return swarm.CheckResult{}, fmt.Errorf("check %s: %w", c.Task, err)
	}
	return w.check(ctx, c, commit)
}

// check runs the commands of a check, each in a box of its own, to the first that fails.
func (w *World) check(ctx context.Context, c swarm.Checking, commit object.ID) (swarm.CheckResult, error) {
	out := swarm.CheckResult{Commit: commit.String(), Passed: true}
	var said strings.Builder
	for _, command := range c.Checks {
		passed, text, err := w.runCheck(ctx, command, commit)
		if err != nil {
			return swarm.CheckResult{}, known(fmt.Errorf("check %s: %w", c.Task, err))
		}
		fmt.Fprintf(&said, "$ %s\n%s", command, text)
		if !strings.HasSuffix(text, "\n") {
			said.WriteByte('\n')
		}
		if !passed {
			out.Passed = false
			break
		}
		said.WriteString("exit status 0\n") // so that a judge can cite a silent check
	}
	out.Output = swarm.ClipOutput(said.String())
	return out, nil
}

func (w *World) runCheck(ctx context.Context, command string, commit object.ID) (passed bool, output string, err error) {
	dir := filepath.Join(w.Dir, "checks")
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return false, "", err
	}
	leave, err := w.Gate.Enter(ctx)
	if err != nil {
		return false, "", err
	}
	defer leave()
	checker, err := check.New(w.Repo, w.Trees, w.Host, check.Options{
		Command: []string{"sh", "-c", command}, Timeout: w.CheckTime, Output: 2 * swarm.MaxOutput,
		Dir: dir, Mounts: w.Mounts, Env: w.Env, Limits: w.Limits,
	})
	if err != nil {
		return false, "", err
	}
	r, err := checker.Check(ctx, commit)
	return r.Passed, r.Output, err
}
